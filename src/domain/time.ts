// Times and zones (spec 2.2, 2.4; rules 2 and 7). Instants are unix milliseconds.
import { Temporal } from 'temporal-polyfill'

/** RFC 3339 in UTC with `Z`, whole seconds: `2026-11-27T19:15:00Z`. */
export function formatUtc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** `DD.MM.YYYY HH:MM:SS` in a zone, daylight saving included (rule 2). */
export function formatLocal(ms: number, timezone: string): string {
  const local = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone)
  const two = (n: number) => String(n).padStart(2, '0')
  return `${two(local.day)}.${two(local.month)}.${local.year} ${two(local.hour)}:${two(local.minute)}:${two(local.second)}`
}
