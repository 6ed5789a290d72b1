// The metadata record that players read (spec 2.4, rule 19): always all keys, always the same JSON types.
import type { ChannelContext, Element, Images, Tracktype } from './event.ts'
import { members } from './json.ts'
import { formatLocal, formatUtc } from './time.ts'

/** A record without its position: that is stamped by the one who writes it to the log of shown records. */
export type MetadataRecord = {
  rawdata: string
  channel: string
  session: string
  marker: string
  id: string
  mount: string
  channelkey: string
  timestamp: string
  time: string
  artist: string
  song: string
  station: string
  stationkey: string
  start: string
  type: Tracktype
  code: string
  timezone: string
  separator: string
  isrc: string
  asin: string
  cover: string
  album: string
  source: 'metapush' | 'fallback'
  duration: number
  start_timestamp: number
  etype: number
  userplayout: boolean
  images: Images | null
  /** Compact JSON text of an object or a string, or null. */
  externalid: string | null
  /** Compact JSON text of an object, or null. */
  extdata: string | null
}

/** Everything that decides a record but its place in the log. */
export type RecordFacts = {
  channelkey: string
  type: Tracktype
  element: Element
  /** Unix milliseconds. */
  startMs: number
  context: ChannelContext
  source: MetadataRecord['source']
}

/** The record of an element, as its channel's players get it. */
export function makeRecord({
  channelkey,
  type,
  element,
  startMs,
  context,
  source,
}: RecordFacts): MetadataRecord {
  return {
    rawdata: '',
    channel: context.channel,
    session: '',
    marker: '',
    id: element.id,
    mount: '',
    channelkey,
    ...startFields(startMs, context.timezone),
    artist: element.artist,
    song: element.song,
    station: context.station,
    stationkey: context.stationkey,
    type,
    code: channelkey,
    timezone: context.timezone,
    separator: element.separator,
    isrc: element.isrc,
    asin: '',
    cover: element.cover || context.cover,
    album: element.album,
    source,
    duration: element.duration,
    etype: element.etype,
    userplayout: false,
    images: element.images,
    externalid: element.externalid,
    extdata: element.extdata,
  }
}

/** The fields that name the start; all of them the same instant (rule 2). */
function startFields(startMs: number, timezone: string) {
  const utc = formatUtc(startMs)
  return {
    timestamp: utc,
    time: utc,
    start: formatLocal(startMs, timezone),
    start_timestamp: Math.floor(startMs / 1000),
  }
}

/** The record that says that a `next` has ceased to be (rule 16): its id, no text, start = that moment. */
export function emptyRecord(ceased: MetadataRecord, momentMs: number): MetadataRecord {
  return {
    ...ceased,
    ...startFields(momentMs, ceased.timezone),
    song: '',
    artist: '',
    album: '',
    cover: '',
    isrc: '',
    duration: 0,
    etype: 0,
    images: null,
    externalid: null,
    extdata: null,
  }
}

/** Whether this record stands for "no next" (rule 16). */
export function isEmptyNext(record: MetadataRecord): boolean {
  return record.type === 'next' && record.song === '' && record.artist === ''
}

/** The JSON of a record, `externalid` and `extdata` byte for byte as pushed. */
export function encodeRecord(record: MetadataRecord, position: string): string {
  const { externalid, extdata, ...rest } = record
  const head = JSON.stringify(rest)
  return `{"position":"${position}",${head.slice(1, -1)},"externalid":${externalid ?? 'null'},"extdata":${extdata ?? 'null'}}`
}

/**
 * The stationkey of a record from encodeRecord, which need not be decoded for it: what stands before it there are
 * strings, and in a string every quote is escaped.
 */
export function stationkeyOf(json: string): string {
  return /"stationkey":"([A-Za-z0-9_-]*)"/.exec(json)?.[1] ?? JSON.parse(json).stationkey
}

/** How nearly every record ends. */
const emptyTail = '"externalid":null,"extdata":null}'

/**
 * The index behind a record from encodeRecord, or null, that begins at `start` of a JSON text; -1 where only reading
 * all of it would tell. What stands before `externalid` is ours, so the first of that name is the record's own.
 */
export function endOfRecord(text: string, start: number): number {
  if (text.startsWith('null', start)) return start + 'null'.length
  // Looked for without its quote and its e: JSON is full of both, and the search would stop at each (2 µs a value).
  const tail = text.indexOf('xternalid":', start) - 2
  return tail >= 0 && text.startsWith(emptyTail, tail) ? tail + emptyTail.length : -1
}

/** The inverse of encodeRecord. */
export function decodeRecord(json: string): MetadataRecord {
  const { position: _, ...record } = JSON.parse(json)
  const raw = members(json)
  return { ...record, externalid: rawOrNull(raw.get('externalid')), extdata: rawOrNull(raw.get('extdata')) }
}

function rawOrNull(text: string | undefined): string | null {
  return text === undefined || text === 'null' ? null : text
}

/** The text form of a record (rule 22): artist, separator, song; one part alone without separator. */
export function textOf(record: Pick<MetadataRecord, 'artist' | 'song' | 'separator'>): string {
  if (record.artist === '' || record.song === '') return record.artist + record.song
  return record.artist + record.separator + record.song
}
