// Events as lines of a file: how an export writes them, and how an import reads them back.
import type { ChannelContext, Element, NowNextEvent, PushEvent } from '../domain/event.ts'
import { compact } from '../domain/json.ts'
import { isKey } from '../domain/keys.ts'
import { decodeEvent, type RawEvent } from '../log/event-log.ts'
import type { ImportedEvent } from '../log/import-log.ts'
import { csvField } from './csv.ts'

export type EventFormat = 'ndjson' | 'csv'

/** What an event is on its line; null where it has none. */
export type EventLine = (event: RawEvent) => string | null

/** NDJSON holds each event as it is: a log made of it shows the same. */
function ndjsonLine(raw: RawEvent): string | null {
  const event = decodeEvent(raw)
  if (event instanceof Error) return null
  const { sequence, channelkey, timeMs } = event
  const json = Buffer.from(raw.data.buffer, raw.data.byteOffset, raw.data.length).toString()
  const oneLine = json.includes('\n') ? compact(json) : json
  const time = new Date(timeMs).toISOString()
  return `{"sequence":${sequence},"time":"${time}","channelkey":"${channelkey}","event":${oneLine}}\n`
}

/** The fields of a play on a line: what an export writes and an import reads. `start` may differ from `time`, when the push came. */
export const playFieldNames = [
  'time',
  'channelkey',
  'tracktype',
  'start',
  'artist',
  'song',
  'album',
  'duration',
  'etype',
  'id',
  'isrc',
  'cover',
  'separator',
  'externalid',
  'extdata',
] as const

const csvColumns = ['sequence', ...playFieldNames]

/** CSV holds the pushes only, for people and spreadsheets. */
function csvLine(raw: RawEvent): string | null {
  const logged = decodeEvent(raw)
  if (logged instanceof Error) return null
  const { sequence, channelkey, timeMs, event } = logged
  if (event.kind !== 'now' && event.kind !== 'next') return null
  const { artist, song, album, duration, etype, id, isrc, cover, separator, externalid, extdata } =
    event.element
  const times = [sequence, new Date(timeMs).toISOString(), channelkey, event.kind]
  const start = new Date(event.startMs).toISOString()
  const texts = [start, artist, song, album, duration, etype, id, isrc, cover, separator]
  const fields = [...times, ...texts, plainText(externalid), extdata ?? '']
  return `${fields.map(field => csvField(String(field))).join(',')}\r\n`
}

/** A JSON string as what it says, an object as its JSON. */
function plainText(json: string | null): string {
  if (json === null) return ''
  return json.startsWith('"') ? JSON.parse(json) : json
}

export const eventFormats: Record<EventFormat, { head: string; line: EventLine; sequence: RegExp }> = {
  ndjson: { head: '', line: ndjsonLine, sequence: /^\{"sequence":(\d{1,15}),"time":/ },
  csv: { head: `${csvColumns.join(',')}\r\n`, line: csvLine, sequence: /^(\d{1,15}),\d{4}-/ },
}

// ---------------------------------------------------------------- reading back

/** A registry revision far below 1, in the same order as it was. */
const foreign = 2 ** -40

/**
 * Revisions tell the lives of a channel apart (its removals), and those of another cluster mean nothing here: scaled
 * down, they keep their order among each other and lie before every revision that this cluster will give.
 */
export function asForeign(event: NowNextEvent): NowNextEvent {
  switch (event.kind) {
    case 'tick':
      return event
    case 'delete':
      return { ...event, revision: event.revision * foreign }
    default:
      return { ...event, context: { ...event.context, revision: event.context.revision * foreign } }
  }
}

/** The event of a line of an export; or what is wrong with it, in words. */
export function readEventLine(line: Record<string, unknown>): ImportedEvent | string {
  const { time, channelkey, event } = line
  const timeMs = typeof time === 'string' ? Date.parse(time) : Number.NaN
  if (Number.isNaN(timeMs)) return 'its time is not an RFC 3339 time'
  if (typeof channelkey !== 'string' || !isKey(channelkey)) return 'its channelkey is not one'
  const wrong = wrongWith(event)
  return wrong ?? { channelkey, timeMs, event: asForeign(event as NowNextEvent) }
}

function wrongWith(event: unknown): string | null {
  if (typeof event !== 'object' || event === null) return 'its event is not an object'
  const { v, kind, revision } = event as Record<string, unknown>
  if (v !== 1) return `its event is of version ${String(v)}, which this release does not know`
  if (kind === 'tick') return null
  if (kind === 'delete') return typeof revision === 'number' ? null : 'its event has no revision'
  if (kind !== 'now' && kind !== 'next') return `its event is of the unknown kind ${String(kind)}`
  const { element, context, ...rest } = event as Record<string, unknown>
  return (
    wrongField(rest, pushForm, 'event') ??
    wrongField(element, elementForm, 'element') ??
    wrongField(context, contextForm, 'context')
  )
}

type Kind = 'string' | 'number' | 'boolean' | 'list' | 'text or null' | 'any'
type Form<T> = Record<keyof T, Kind>

const pushForm: Omit<Form<PushEvent>, 'element' | 'context' | 'v' | 'kind'> = {
  given: 'list',
  startMs: 'number',
  explicit: 'boolean',
  receivedMs: 'number',
  intake: 'string',
  warnings: 'list',
}

const elementForm: Form<Element> = {
  id: 'string',
  song: 'string',
  artist: 'string',
  album: 'string',
  cover: 'string',
  images: 'any',
  separator: 'string',
  isrc: 'string',
  duration: 'number',
  etype: 'number',
  extdata: 'text or null',
  externalid: 'text or null',
}

const contextForm: Form<ChannelContext> = {
  revision: 'number',
  stationkey: 'string',
  station: 'string',
  channel: 'string',
  timezone: 'string',
  cover: 'string',
  holdSeconds: 'number',
  fallback: 'any',
  announceNext: 'boolean',
}

function wrongField(value: unknown, form: Record<string, Kind>, where: string): string | null {
  if (typeof value !== 'object' || value === null) return `its ${where} is not an object`
  for (const [name, kind] of Object.entries(form)) {
    const field = (value as Record<string, unknown>)[name]
    if (field === undefined || !isOfKind(field, kind)) return `its ${where} has no right ${name}`
  }
  return null
}

function isOfKind(field: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'any':
      return true
    case 'list':
      return Array.isArray(field)
    case 'text or null':
      return field === null || typeof field === 'string'
    default:
      return typeof field === kind
  }
}
