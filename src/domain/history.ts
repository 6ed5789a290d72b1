// The history (rule 27): one row per play, made from the values of one channel, the newest first.
import { encodeRecord, type MetadataRecord } from './record.ts'
import type { LateReason } from './state.ts'
import type { HistoryValue } from './value.ts'

/** One play. */
export type PlayRow = {
  /** Sequence of the value that began it: its place in the history. */
  sequence: number
  /** The first start, and the last correction's fields. */
  record: MetadataRecord
  /** Seconds for which it was current; null while it is. */
  played: number | null
  /** Why nobody was shown it; null: it was shown. */
  reason: LateReason | null
  /** Of its push, and of those that corrected it: each once, the first ones first. */
  warnings: string[]
}

/** Makes plays of a channel's values, given one after the other, the newest first. */
export class PlaysBackwards {
  /** Unix seconds of the start of the next `now`; null: there is none. */
  #nextStart: number | null = null
  /** The newest record of the play whose beginning is not found yet. */
  #last: MetadataRecord | null = null
  /** Of the corrections since then. */
  #warnings: string[] = []

  /** The row that this value began, if any. */
  take({ sequence, play, now, warnings }: HistoryValue): PlayRow | null {
    if (play?.kind === 'late') {
      this.#last ??= now
      return { sequence, record: play.record, played: 0, reason: play.reason, warnings }
    }
    const record = this.#last ?? now
    if (play !== null) this.#warnings = [...new Set([...warnings, ...this.#warnings])]
    if (play?.kind !== 'new' || record === null || now === null) {
      this.#last = record
      return null
    }
    const played = playedSeconds(record, this.#nextStart)
    const row = { sequence, record, played, reason: null, warnings: this.#warnings }
    this.#warnings = []
    this.#nextStart = now.start_timestamp
    this.#last = null
    return row
  }
}

/** Until the next `now`, at most the duration where that is known; the start of the next may be the older one. */
function playedSeconds(
  { start_timestamp, duration }: MetadataRecord,
  nextStart: number | null,
): number | null {
  if (nextStart === null) return null
  const seconds = Math.max(0, nextStart - start_timestamp)
  return duration > 0 ? Math.min(seconds, duration) : seconds
}

/** Which plays are asked for. */
export type PlayFilter = {
  /** Unix seconds, both included. */
  from: number | null
  to: number | null
  etype: number | null
  source: MetadataRecord['source']
  /** Only plays under this station's name; a channel may have moved. */
  stationkey: string | null
}

export function isWanted({ record }: PlayRow, filter: PlayFilter): boolean {
  const { from, to, etype, source, stationkey } = filter
  return (
    record.source === source &&
    (stationkey === null || record.stationkey === stationkey) &&
    (etype === null || record.etype === etype) &&
    (from === null || record.start_timestamp >= from) &&
    (to === null || record.start_timestamp <= to)
  )
}

/** The row as players of a channel with the option `recent` may see it. */
export function withoutExtdata(row: PlayRow): PlayRow {
  return { ...row, record: { ...row.record, extdata: null } }
}

/** A row as JSON, with its position. */
export type RowEncoder = (row: PlayRow, position: string) => string

/** For players: the record of rule 19, with `played` and `shown`. */
export function encodeRow({ record, played, reason }: PlayRow, position: string): string {
  return `${encodeRecord(record, position).slice(0, -1)},"played":${played},"shown":${reason === null}}`
}

/** For the operator: why it was not shown, and the warnings, besides (rule 14). */
export function encodeOperatorRow(row: PlayRow, position: string): string {
  const { reason, warnings } = row
  const more = `"reason":${JSON.stringify(reason)},"warnings":${JSON.stringify(warnings)}`
  return `${encodeRow(row, position).slice(0, -1)},${more}}`
}

const csvColumns = [
  'start',
  'artist',
  'song',
  'album',
  'isrc',
  'duration',
  'played',
  'etype',
  'id',
  'externalid',
  'extdata',
]

/** The header line of RFC 4180, with its end. */
export const csvHeader = csvLine(csvColumns)

/** Lines of RFC 4180. Texts stand as they were pushed, also those that a spreadsheet takes for a formula. */
export function encodeCsvRows(rows: PlayRow[]): string {
  return rows.map(row => csvLine(csvFields(row))).join('')
}

function csvLine(fields: string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`
}

function csvFields({ record, played }: PlayRow): string[] {
  const { start, artist, song, album, isrc, duration, etype, id, externalid, extdata } = record
  const numbers = [duration, played ?? '', etype].map(String)
  return [start, artist, song, album, isrc, ...numbers, id, plainText(externalid), extdata ?? '']
}

/** A JSON string as what it says, an object as its JSON. */
function plainText(json: string | null): string {
  if (json === null) return ''
  return json.startsWith('"') ? JSON.parse(json) : json
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
