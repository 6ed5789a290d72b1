// Push tokens, by the console.
import { readFileSync } from 'node:fs'
import type { TokenAnswer } from '../api/console.ts'
import type { Flag } from '../config/options.ts'
import { StartError } from '../observe/service.ts'
import { type Call, type Command, jsonFlag } from './command.ts'
import { ConsoleApi } from './http.ts'

/** A token on the command line can be read by everybody on the machine; so it comes from a file, or by a pipe. */
export const tokenFileFlag: Flag = {
  flag: 'token-file',
  type: 'path',
  description: 'File that holds the push token; - reads it from standard input',
}

export const tokenCommands: readonly Command[] = [
  {
    name: 'token add',
    operands: ['channelkey'],
    description: 'Add a push token to a channel: a new one, or an old one from a file',
    flags: [{ flag: 'label', type: 'string', description: 'What it is for' }, tokenFileFlag],
    run: addToken,
  },
  {
    name: 'token list',
    operands: ['channelkey'],
    description: 'List the ids and labels of the push tokens of a channel',
    flags: [jsonFlag],
    run: listTokens,
  },
  {
    name: 'token revoke',
    operands: ['channelkey', 'id'],
    description: 'Revoke a push token by its id',
    flags: [],
    run: revokeToken,
  },
]

/** Throws a StartError where the file cannot be read or is empty. */
export function readTokenFile(path: string): string {
  let token: string
  try {
    token = readFileSync(path === '-' ? 0 : path, 'utf8').trim()
  } catch (error) {
    throw new StartError(`the token file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  if (token === '') throw new StartError(`the token file ${path} is empty`)
  return token
}

async function addToken({ config, flags, operands: [key = ''], output }: Call): Promise<void> {
  const file = flags.text('token-file')
  const label = flags.text('label')
  const body = {
    ...(label !== undefined && { label }),
    ...(file !== undefined && { token: readTokenFile(file) }),
  }
  const { body: added } = await new ConsoleApi(config).ask(
    'POST',
    `/channels/${encodeURIComponent(key)}/tokens`,
    body,
  )
  output.line(`token ${added.id} added to ${key}`)
  if (file === undefined) output.token(key, added.token)
}

async function listTokens({ config, flags, operands: [key = ''], output }: Call): Promise<void> {
  const { body } = await new ConsoleApi(config).ask('GET', `/channels/${encodeURIComponent(key)}/tokens`)
  if (flags.has('json')) return output.json(body)
  const rows = (body as TokenAnswer[]).map(({ id, label, createdAt }) => [id, createdAt, label])
  output.table(['ID', 'CREATED', 'LABEL'], rows, 'no tokens')
}

async function revokeToken({ config, operands: [key = '', id = ''], output }: Call): Promise<void> {
  const path = `/channels/${encodeURIComponent(key)}/tokens/${encodeURIComponent(id)}`
  await new ConsoleApi(config).ask('DELETE', path)
  output.line(`token ${id} of ${key} revoked`)
}
