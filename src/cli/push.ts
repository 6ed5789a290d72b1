// A push, as an encoder does it (spec 4.1).
import type { Flag } from '../config/options.ts'
import { StartError } from '../observe/service.ts'
import { type Call, type Command, jsonFlag } from './command.ts'
import { requireSuccess, send } from './http.ts'
import { readTokenFile, tokenFileFlag } from './token.ts'

/** Sent as they are typed: the service knows all forms of a duration and a time (rules 6 and 7). */
const fields: readonly Flag[] = [
  { flag: 'song', type: 'string', description: 'Song name' },
  { flag: 'artist', type: 'string', description: 'Artist name' },
  { flag: 'duration', type: 'string', description: 'Seconds, or 3:45' },
  { flag: 'time', type: 'string', description: 'Start: unix time or RFC 3339; left out: now' },
  { flag: 'tracktype', type: 'string', choices: ['now', 'next'], description: 'Current or following track' },
  { flag: 'etype', type: 'string', description: 'Content type: an ID such as 1001, or a name such as News' },
  { flag: 'id', type: 'string', description: 'Reference ID' },
  { flag: 'isrc', type: 'string', description: 'ISRC' },
  { flag: 'album', type: 'string', description: 'Album' },
  { flag: 'cover', type: 'string', description: 'Cover: an http or https address' },
  { flag: 'separator', type: 'string', description: 'Between artist and song' },
]

const emptyFlag: Flag = {
  flag: 'empty',
  type: 'boolean',
  description: 'Push no text: silence; with --tracktype next, nothing follows any more',
}

export const pushCommand: Command = {
  name: 'push',
  operands: ['channelkey', '[token]'],
  description: 'Push what is playing',
  more: 'A token that begins with - goes behind --, as in `push --song X -- demo_pop -token`, or into --token-file.',
  flags: [...fields, emptyFlag, tokenFileFlag, jsonFlag],
  run: push,
}

async function push({ config, flags, operands: [key = '', operand], output }: Call): Promise<void> {
  const file = flags.text('token-file')
  const token = operand ?? (file === undefined ? undefined : readTokenFile(file))
  if (token === undefined)
    throw new StartError(
      'push needs the token: push <channelkey> <token>, or --token-file (-- before a token that begins with -)',
    )
  const isEmpty = !flags.text('song') && !flags.text('artist')
  if (isEmpty !== flags.has('empty'))
    throw new StartError(
      isEmpty
        ? 'push needs --song or --artist; --empty pushes that nothing is playing'
        : '--empty goes without --song and --artist',
    )
  const query = new URLSearchParams()
  for (const { flag } of fields) {
    const value = flags.text(flag)
    if (value !== undefined) query.set(flag, value)
  }
  // The token goes into a header, where no proxy writes it into its log.
  const url = `${config.baseUrl}/metapush/${encodeURIComponent(key)}?${query}`
  const pushed = requireSuccess(
    'the push service',
    await send('the push service', { method: 'GET', url, token }),
  )
  for (const warning of pushed.warnings ?? []) output.warning(warning)
  if (flags.has('json')) return output.json(pushed)
  const { type, artist, separator, song, start, timezone, id } = pushed
  const text = [artist, song].filter(part => part !== '').join(separator)
  output.line(`${type}: ${text || '(no text)'}, start ${start} ${timezone}, id ${id}`)
}
