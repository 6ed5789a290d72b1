// What a request for the history says, and what it is answered with (rule 27). The delivery service and the console's
// API share it.
import { setImmediate as turn } from 'node:timers/promises'
import { readEtype } from '../domain/etype.ts'
import {
  csvHeader,
  encodeCsvRows,
  type PlayFilter,
  type PlayRow,
  type RowEncoder,
} from '../domain/history.ts'
import { readTime } from '../domain/time.ts'
import { type FieldError, Problem } from './errors.ts'

export const defaultHistoryLimit = 20
export const maxHistoryLimit = 1000

const rowsAtOnce = 64

export type HistoryForm = 'json' | 'csv'

export type HistoryQuery = {
  filter: Pick<PlayFilter, 'from' | 'to' | 'etype' | 'source'>
  limit: number
  /** A sequence of the log; null: from the newest on. */
  before: number | null
}

export type HistoryQueryFacts = {
  /** Unix milliseconds. */
  nowMs: number
  /** In which times without a zone are read. IANA name. */
  zone: string
  /** The sequence of a position; null where it is none of this log. */
  sequenceOf(position: string): number | null
}

const names = ['from', 'to', 'limit', 'before', 'etype', 'source'] as const

/**
 * Reads the query. Of a repeated parameter the last counts; an empty one counts as not given, others are ignored.
 * Throws a Problem that names each parameter at fault.
 */
export function readHistoryQuery(parameters: URLSearchParams, facts: HistoryQueryFacts): HistoryQuery {
  const errors: FieldError[] = []
  const read = <T>(name: (typeof names)[number], reader: (text: string) => T | Wrong): T | null => {
    const text = parameters.getAll(name).at(-1) ?? ''
    const value = text === '' ? null : reader(text)
    if (!(value instanceof Wrong)) return value
    errors.push({ field: name, message: value.message })
    return null
  }
  const time = (text: string) => readSeconds(text, facts)
  const from = read('from', time)
  const to = read('to', time)
  if (from !== null && to !== null && from > to) errors.push({ field: 'from', message: 'lies after to' })
  const limit = read('limit', readLimit) ?? defaultHistoryLimit
  const before = read('before', text => facts.sequenceOf(text) ?? new Wrong('is not a position of this log'))
  const etype = read('etype', text => readEtype(text) ?? new Wrong('is neither an integer nor a known name'))
  const source = read('source', readSource) ?? 'metapush'
  if (errors.length === 0) return { filter: { from, to, etype, source }, limit, before }
  throw new Problem('invalid', undefined, { errors })
}

/** What is wrong with a parameter. */
class Wrong {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

/** Unix seconds; null where the time stands for "not given" (rule 7). */
function readSeconds(text: string, { nowMs, zone }: HistoryQueryFacts): number | null | Wrong {
  const reading = readTime(text, { arrivalMs: nowMs, zone, pushedZone: '' })
  if (!reading.ok) return new Wrong(reading.message)
  return reading.explicitMs === null ? null : Math.floor(reading.explicitMs / 1000)
}

function readLimit(text: string): number | Wrong {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= maxHistoryLimit ? limit : new Wrong(`must be 1 to ${maxHistoryLimit}`)
}

function readSource(text: string): PlayFilter['source'] | Wrong {
  return text === 'metapush' || text === 'fallback' ? text : new Wrong('must be metapush or fallback')
}

/** The path and query of the next page: the same request, before another position. */
export function nextPage(path: string, parameters: URLSearchParams, before: string): string {
  const next = new URLSearchParams()
  for (const name of names) {
    const value = parameters.getAll(name).at(-1)
    if (value) next.set(name, value)
  }
  next.set('before', before)
  return `${path}?${next}`
}

/** The value of a Link header (RFC 8288). */
export function nextLink(target: string): string {
  return `<${target}>; rel="next"`
}

export function historyContentType(form: HistoryForm): string {
  return form === 'json' ? 'application/json' : 'text/csv; charset=utf-8; header=present'
}

/** The body of a page; a slice of rows at a time, between which other work gets its turn. */
export async function encodeHistory(
  form: HistoryForm,
  rows: PlayRow[],
  encodeRow: RowEncoder,
  positionOf: (sequence: number) => string,
): Promise<string> {
  const parts: string[] = []
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    if (start > 0) await turn()
    const slice = rows.slice(start, start + rowsAtOnce)
    if (form === 'csv') parts.push(encodeCsvRows(slice))
    else parts.push(slice.map(row => encodeRow(row, positionOf(row.sequence))).join(','))
  }
  return form === 'csv' ? csvHeader + parts.join('') : `[${parts.join(',')}]`
}
