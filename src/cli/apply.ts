// `apply FILE`: stations and channels as a file says, as often as one likes. What the file does not name stays, in a
// station or channel that it names too.
import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import type { TokenAnswer } from '../api/console.ts'
import { StartError } from '../observe/service.ts'
import type { Call, Command } from './command.ts'
import { ConsoleApi } from './http.ts'
import type { Output } from './output.ts'

const fileHelp = `FILE is YAML. What it does not name stays as it is: other stations and channels, other fields, other tokens.

  stations:
    my_station: { name: My Radio, timezone: Europe/Berlin }
  channels:
    my_channel:
      station: my_station        # needed where the channel is new
      name: My Radio Live
      timezone: Europe/Berlin    # null: the station's
      cover: https://example.org/logo.png
      holdSeconds: 30
      fallback: { song: My Radio, artist: "", afterSeconds: 10, unknownAfterSeconds: 600 }   # null: none
      announceNext: true
      history: recent            # or public, off
      mounts:
        - { url: "http://127.0.0.1:8000", mount: /live.mp3, user: source, password: ... }
      tokens:
        - token: an-old-token-of-16-or-more
          label: studio

A new channel that brings no tokens gets one. The entries are made one after the other; after an error, mend the file
and run it again.`

export const applyCommand: Command = {
  name: 'apply',
  operands: ['file'],
  description: 'Make stations and channels as a YAML file says; - reads standard input',
  more: fileHelp,
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
    const { status } = await named(
      `station ${key}`,
      api.change(pathOf('stations', key), () => body),
    )
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
  const { status, body } = await api.change(path, () => channel)
  output.line(`channel ${key} ${status === 201 ? 'created' : 'set'}`)
  if (tokens.length > 0) return await bringTokens(api, output, key, tokens, body.token !== undefined)
  if (body.token !== undefined) output.token(key, body.token)
}

/** Adds the tokens. A new channel that brings its own needs not the one that it was made with. */
async function bringTokens(
  api: ConsoleApi,
  output: Output,
  key: string,
  tokens: BroughtToken[],
  isNew: boolean,
): Promise<void> {
  const path = `${pathOf('channels', key)}/tokens`
  const before: TokenAnswer[] = (await api.ask('GET', path)).body
  const added = new Set<string>()
  for (const token of tokens) added.add((await api.ask('POST', path, token)).body.id)
  const others = before.filter(({ id }) => !added.has(id))
  if (isNew) for (const { id } of others) await api.ask('DELETE', `${path}/${id}`)
  for (const [at, { label }] of tokens.entries())
    output.line(`channel ${key}: token ${label ? JSON.stringify(label) : at + 1} of the file is there`)
  if (!isNew && others.length > 0) output.line(`channel ${key}: ${others.length} other token(s) stay`)
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

function entriesOf(value: unknown, where: string): Array<[string, Fields]> {
  return Object.entries(requireMap(value ?? {}, where)).map(([key, fields]) => [
    key,
    requireMap(fields ?? {}, `${where}.${key}`),
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
