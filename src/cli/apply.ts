// `apply FILE`: stations and channels as a file says, as often as one likes. What the file does not name stays.
import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import type { TokenAnswer } from '../api/console.ts'
import { StartError } from '../observe/service.ts'
import type { Call, Command } from './command.ts'
import { ConsoleApi } from './http.ts'
import type { Output } from './output.ts'

export const applyCommand: Command = {
  name: 'apply',
  operands: ['file'],
  description: 'Make stations and channels as a YAML file says; - reads standard input',
  flags: [],
  run: apply,
}

type Fields = Record<string, unknown>
type BroughtToken = { token: string; label?: string }
type Plan = {
  stations: Array<[key: string, body: Fields]>
  channels: Array<[key: string, body: Fields, tokens: BroughtToken[]]>
}

async function apply({ config, operands: [file = ''], output }: Call): Promise<void> {
  const plan = readPlan(readFile(file), file)
  const api = new ConsoleApi(config)
  for (const [key, body] of plan.stations) {
    const { status } = await named(`station ${key}`, api.ask('PUT', pathOf('stations', key), body))
    output.line(`station ${key} ${status === 201 ? 'created' : 'set'}`)
  }
  for (const [key, body, tokens] of plan.channels)
    await named(`channel ${key}`, applyChannel(api, output, key, body, tokens))
}

async function applyChannel(
  api: ConsoleApi,
  output: Output,
  key: string,
  channel: Fields,
  tokens: BroughtToken[],
): Promise<void> {
  const path = pathOf('channels', key)
  const { status, body } = await api.ask('PUT', path, channel)
  output.line(`channel ${key} ${status === 201 ? 'created' : 'set'}`)
  if (body.token !== undefined && tokens.length === 0) output.token(key, body.token)
  // A channel that brings its tokens needs none that nobody has asked for.
  const surplus: TokenAnswer[] =
    body.token !== undefined && tokens.length > 0 ? (await api.ask('GET', `${path}/tokens`)).body : []
  for (const token of tokens) await api.ask('POST', `${path}/tokens`, token)
  for (const { id } of surplus) await api.ask('DELETE', `${path}/tokens/${id}`)
  if (tokens.length > 0) output.line(`channel ${key} has the ${tokens.length} token(s) of the file`)
}

function pathOf(what: 'stations' | 'channels', key: string): string {
  return `/${what}/${encodeURIComponent(key)}`
}

/** Says which entry an error is about. */
async function named<T>(what: string, work: Promise<T>): Promise<T> {
  return await work.catch(error => {
    throw error instanceof StartError ? new StartError(`${what}: ${error.message}`) : error
  })
}

function readFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new StartError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** Exported for tests. The fields of stations and channels are checked by the service. Throws a StartError. */
export function readPlan(text: string, file: string): Plan {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) throw new StartError(`${file}: ${error.message.split('\n')[0]}`)
  const { stations = {}, channels = {}, ...unknown } = requireMap(document.toJS() ?? {}, file)
  const [name] = Object.keys(unknown)
  if (name !== undefined)
    throw new StartError(`${file}: ${name} is not known; it takes stations and channels`)
  return {
    stations: entriesOf(stations, `${file}: stations`),
    channels: entriesOf(channels, `${file}: channels`).map(([key, { tokens = [], ...body }]) => [
      key,
      body,
      tokensOf(tokens, `${file}: channels.${key}.tokens`),
    ]),
  }
}

/** A name that is left out shows the key. */
function entriesOf(value: unknown, where: string): Array<[string, Fields]> {
  return Object.entries(requireMap(value ?? {}, where)).map(([key, fields]) => [
    key,
    { name: '', ...requireMap(fields ?? {}, `${where}.${key}`) },
  ])
}

function tokensOf(value: unknown, where: string): BroughtToken[] {
  if (!Array.isArray(value)) throw new StartError(`${where} must be a list`)
  return value.map((item, at) => {
    const { token, label, ...unknown } = requireMap(item, `${where}.${at}`)
    const labelFits = label === undefined || typeof label === 'string'
    if (typeof token !== 'string' || !labelFits || Object.keys(unknown).length > 0)
      throw new StartError(`${where}.${at} must have a token and may have a label, both text`)
    return label === undefined ? { token } : { token, label }
  })
}

function requireMap(value: unknown, where: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new StartError(`${where} must be a mapping of names to values`)
}
