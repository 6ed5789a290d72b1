// A plain list of plays, as an old system writes it: each becomes the push that it would have been.
import { v5 as uuidV5 } from 'uuid'
import { readDurationText } from '../domain/duration.ts'
import type { ChannelContext } from '../domain/event.ts'
import { compact } from '../domain/json.ts'
import { isKey } from '../domain/keys.ts'
import { normalise, type PushFields } from '../domain/normalise.ts'
import { readTime } from '../domain/time.ts'
import type { ImportedEvent } from '../log/import-log.ts'
import { asForeign, type playFieldNames } from './event-lines.ts'

/** The fields of one play by name, as texts; missing and empty ones mean the same, others are ignored. */
export type PlayFields = ReadonlyMap<string, string>

const idNamespace = '6f9f5f0e-4c0b-5d0e-9d0a-3b6f6c1f7a55'

/** The push of a play; or what is wrong with it, in words. zone: in which times without one are read. */
export function readPlay(fields: PlayFields, zone: string): ImportedEvent | string {
  const text = (name: (typeof playFieldNames)[number]) => fields.get(name) ?? ''
  const channelkey = text('channelkey')
  if (!isKey(channelkey)) return channelkey === '' ? 'it has no channelkey' : 'its channelkey is not one'
  const timeMs = readInstant(text('time'), zone)
  if (timeMs === null) return text('time') === '' ? 'it has no time' : 'its time is not a time'
  const startMs = text('start') === '' ? timeMs : readInstant(text('start'), zone)
  if (startMs === null) return 'its start is not a time'
  const duration = readDurationText(text('duration'))
  if (duration === null) return 'its duration is not one'
  const extdata = readObject(text('extdata'))
  if (extdata === undefined) return 'its extdata is not a JSON object'
  const pushed: PushFields = {
    ...(Object.fromEntries(plainNames.map(name => [name, text(name)])) as Pick<PushFields, PlainName>),
    duration,
    extdata,
    externalid: readObject(text('externalid')) ?? JSON.stringify(text('externalid')),
    time: '',
    timezone: '',
    images: null,
  }
  if (text('externalid') === '') pushed.externalid = null
  const decoded = normalise(pushed, { arrivalMs: timeMs, zone }, { warnings: [], errors: [] })
  if (!decoded.ok) return decoded.errors.map(({ field, message }) => `its ${field} ${message}`).join('; ')
  const { element, given, tracktype: kind, warnings } = decoded
  const id = element.id || uuidV5(`${channelkey}.${timeMs}.${element.artist}.${element.song}`, idNamespace)
  const push = {
    v: 1 as const,
    kind,
    element: { ...element, id },
    given,
    startMs,
    explicit: true,
    receivedMs: timeMs,
    intake: 'import',
    warnings,
    context: contextOf(channelkey, zone),
  }
  return { channelkey, timeMs, event: asForeign(push) }
}

const plainNames = [
  'id',
  'song',
  'artist',
  'album',
  'cover',
  'separator',
  'isrc',
  'etype',
  'tracktype',
] as const
type PlainName = (typeof plainNames)[number]

/** Unix milliseconds; null where it is none. */
function readInstant(text: string, zone: string): number | null {
  const reading = readTime(text, { arrivalMs: 0, zone, pushedZone: '' })
  return reading.ok ? reading.explicitMs : null
}

/** The compact JSON of an object, null for an empty text, undefined for anything else. */
function readObject(text: string): string | null | undefined {
  if (text === '') return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? compact(text) : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** A list says nothing of stations: the next push of the channel does. */
function contextOf(channelkey: string, timezone: string): ChannelContext {
  return {
    revision: 1,
    stationkey: '',
    station: '',
    channel: channelkey,
    timezone,
    cover: '',
    holdSeconds: 30,
    fallback: null,
    announceNext: true,
  }
}
