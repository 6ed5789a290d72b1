// Channels, by the console.
import type { ChannelAnswer } from '../api/console.ts'
import type { Flag } from '../config/options.ts'
import type { Fallback } from '../domain/event.ts'
import { StartError } from '../observe/service.ts'
import { type Call, type Command, type CommandFlags, jsonFlag } from './command.ts'
import { ConsoleApi } from './http.ts'

const stationFlag: Flag = { flag: 'station', type: 'string', description: 'Its stationkey' }

export const channelCommands: readonly Command[] = [
  {
    name: 'channel set',
    operands: ['channelkey'],
    description: 'Make a channel, or change what is given of it; a new one gets a push token',
    flags: [
      stationFlag,
      { flag: 'name', type: 'string', description: 'Display name' },
      { flag: 'timezone', type: 'string', description: "IANA name; empty for the station's" },
      { flag: 'cover', type: 'string', description: 'Default cover: an http or https address, or empty' },
      {
        flag: 'hold-seconds',
        type: 'integer',
        min: 0,
        max: 600,
        description: 'How far ahead a push may lie to be held until its start',
      },
      {
        flag: 'fallback-song',
        type: 'string',
        description: 'Song that takes the place of one that has run out',
      },
      { flag: 'fallback-artist', type: 'string', description: 'Artist of that song' },
      {
        flag: 'fallback-after',
        type: 'integer',
        min: 0,
        max: 86_400,
        description: 'Seconds past the end until then',
      },
      {
        flag: 'fallback-unknown-after',
        type: 'integer',
        min: 1,
        max: 86_400,
        description: 'Seconds after the arrival of a play without a duration',
      },
      { flag: 'no-fallback', type: 'boolean', description: 'The last song stays until the next one' },
      {
        flag: 'announce-next',
        type: 'string',
        choices: ['true', 'false'],
        description: 'Whether the following track is delivered',
      },
      {
        flag: 'history',
        type: 'string',
        choices: ['recent', 'public', 'off'],
        description: 'How much of the history players may read',
      },
    ],
    run: setChannel,
  },
  {
    name: 'channel list',
    operands: [],
    description: 'List the channels',
    flags: [stationFlag, jsonFlag],
    run: listChannels,
  },
  {
    name: 'channel rm',
    operands: ['channelkey'],
    description: 'Delete a channel and its tokens; the log of what it played is kept',
    flags: [],
    run: removeChannel,
  },
]

async function setChannel({ config, flags, operands: [key = ''], output }: Call): Promise<void> {
  const { status, body } = await new ConsoleApi(config).change(
    `/channels/${encodeURIComponent(key)}`,
    (known: ChannelAnswer | undefined) => changesOf(flags, known),
  )
  output.line(`channel ${key} ${status === 201 ? 'created' : 'set'}`)
  if (body.token !== undefined) output.token(key, body.token)
}

/** The fields that the flags name; the service checks them. */
function changesOf(flags: CommandFlags, known: ChannelAnswer | undefined): Record<string, unknown> {
  const timezone = flags.text('timezone')
  const announceNext = flags.text('announce-next')
  const fields = {
    station: flags.text('station'),
    name: flags.text('name'),
    timezone: timezone === '' ? null : timezone,
    cover: flags.text('cover'),
    holdSeconds: flags.number('hold-seconds'),
    fallback: fallbackOf(flags, known?.fallback ?? null),
    announceNext: announceNext === undefined ? undefined : announceNext === 'true',
    history: flags.text('history'),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** undefined: as it is. Throws a StartError where it would not be whole. */
function fallbackOf(flags: CommandFlags, known: Fallback | null): Partial<Fallback> | null | undefined {
  if (flags.has('no-fallback')) return null
  const given = {
    song: flags.text('fallback-song'),
    artist: flags.text('fallback-artist'),
    afterSeconds: flags.number('fallback-after'),
    unknownAfterSeconds: flags.number('fallback-unknown-after'),
  }
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return undefined
  const fallback: Partial<Fallback> = { song: '', artist: '', ...known, ...Object.fromEntries(entries) }
  if (!fallback.song && !fallback.artist)
    throw new StartError('a fallback needs a text: --fallback-song or --fallback-artist, or both')
  if (fallback.afterSeconds === undefined) throw new StartError('a fallback needs --fallback-after')
  return fallback
}

async function listChannels({ config, flags, output }: Call): Promise<void> {
  const station = flags.text('station')
  const query = station === undefined ? '' : `?station=${encodeURIComponent(station)}`
  const { body } = await new ConsoleApi(config).ask('GET', `/channels${query}`)
  if (flags.has('json')) return output.json(body)
  const rows = (body as ChannelAnswer[]).map(({ key, station, name, timezone }) => [
    key,
    station,
    name,
    timezone ?? '(station)',
  ])
  output.table(['CHANNEL', 'STATION', 'NAME', 'TIMEZONE'], rows, 'no channels')
}

async function removeChannel({ config, operands: [key = ''], output }: Call): Promise<void> {
  await new ConsoleApi(config).ask('DELETE', `/channels/${encodeURIComponent(key)}`)
  output.line(`channel ${key} deleted`)
}
