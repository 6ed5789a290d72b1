// Times as they are written (spec 2.2, 2.4, rule 2) and as they are pushed (rule 7). Instants are unix milliseconds.
import { cleanText, quote } from './text.ts'
import { instantOf, isTimezone, offsetAt, readOffset } from './zone.ts'

/** The earliest start that is accepted: 1970-01-01T00:00:00Z. */
export const minTimeMs = 0

/** The first start that is not: 9999-12-31T00:00:00Z. RFC 3339 has no fifth digit, and no zone may bring one. */
export const endTimeMs = Date.UTC(9999, 11, 31)

/** RFC 3339 in UTC with `Z`, whole seconds: `2026-11-27T19:15:00Z`. */
export function formatUtc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** `DD.MM.YYYY HH:MM:SS` in a zone, daylight saving included (rule 2). Throws a RangeError for an unknown zone. */
export function formatLocal(ms: number, timezone: string): string {
  const local = new Date(ms + offsetAt(ms, timezone)).toISOString()
  return `${local.slice(8, 10)}.${local.slice(5, 7)}.${local.slice(0, 4)} ${local.slice(11, 19)}`
}

/** What decides how a time is read. */
export type TimeFacts = {
  /** Unix milliseconds. */
  arrivalMs: number
  /** IANA name of the channel's zone. */
  zone: string
  /** The pushed `timezone`: IANA name, `±hh:mm`, or empty. */
  pushedZone: string
}

/** The pushed start in unix milliseconds, null for "now"; or what is wrong with it. */
export type TimeReading =
  | { ok: true; explicitMs: number | null; warnings: string[] }
  | { ok: false; message: string }

const integer = /^(-?)(\d{1,16})(?:\.\d*)?$/
const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?([Zz]|[+ -]\d\d:\d\d)?$/

/**
 * Reads a pushed time: unix seconds (a fraction is cut), 13 digits as milliseconds, RFC 3339 with any offset and
 * fraction, also where `+` became a blank, also without a zone. Empty is now; `0`, `-1` and `null` too, with a warning.
 */
export function readTime(text: string, facts: TimeFacts): TimeReading {
  const trimmed = cleanText(text).trim()
  if (trimmed === '') return { ok: true, explicitMs: null, warnings: [] }
  if (trimmed.toLowerCase() === 'null') return readAsNow(trimmed)
  const number = integer.exec(trimmed)
  if (number !== null) return readNumber(trimmed, number[1] === '-', number[2] ?? '')
  const parts = dateTime.exec(trimmed)
  return parts === null ? notATime(trimmed) : readDateTime(trimmed, parts, facts)
}

function readNumber(text: string, negative: boolean, digits: string): TimeReading {
  const value = Number(digits)
  if (value === 0 || (negative && value === 1)) return readAsNow(text)
  return inRange(text, (negative ? -value : value) * (digits.length === 13 ? 1 : 1000), [])
}

function readDateTime(text: string, parts: RegExpExecArray, facts: TimeFacts): TimeReading {
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number)
  const midnight = dateOf(year ?? 0, month ?? 0, day ?? 0)
  if (midnight === null) return notATime(text)
  const clockMs = ((hour ?? 0) * 3600 + (minute ?? 0) * 60 + (second ?? 0)) * 1000
  const localMs = midnight + clockMs + Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const suffix = parts[8]
  if (suffix === undefined) return readZoneless(text, localMs, facts)
  if (suffix === 'Z' || suffix === 'z') return inRange(text, localMs, [])
  const offsetMs = readOffset(suffix.replace(' ', '+'))
  if (offsetMs === null) return notATime(text)
  const repaired = suffix.startsWith(' ')
    ? [`time: the blank in ${quote(text)} was read as +; escape it as %2B`]
    : []
  return inRange(text, localMs - offsetMs, repaired)
}

function readZoneless(
  text: string,
  localMs: number,
  { arrivalMs, zone, pushedZone }: TimeFacts,
): TimeReading {
  const pushed = cleanText(pushedZone).trim()
  // The + of an offset in a query became a blank, and was then cut off.
  const offsetMs = readOffset(/^\d/.test(pushed) ? `+${pushed}` : pushed)
  if (offsetMs !== null) return inRange(text, localMs - offsetMs, [])
  if (isTimezone(pushed)) return inRange(text, instantOf(localMs, pushed, arrivalMs), [])
  const warnings = pushed === '' ? [] : [`timezone: ${quote(pushed)} is not known`]
  warnings.push(`time: ${quote(text)} has no zone and was read in ${zone}`)
  return inRange(text, instantOf(localMs, zone, arrivalMs), warnings)
}

/** Midnight UTC of a day of the calendar, or null if there is no such day. */
function dateOf(year: number, month: number, day: number): number | null {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : null
}

function readAsNow(text: string): TimeReading {
  return { ok: true, explicitMs: null, warnings: [`time: ${quote(text)} was read as now`] }
}

function inRange(text: string, ms: number, warnings: string[]): TimeReading {
  if (ms >= minTimeMs && ms < endTimeMs) return { ok: true, explicitMs: ms, warnings }
  return { ok: false, message: `${quote(text)} lies outside 1970-01-01 to 9999-12-30` }
}

function notATime(text: string): TimeReading {
  return { ok: false, message: `${quote(text)} is neither unix seconds nor an RFC 3339 date-time` }
}
