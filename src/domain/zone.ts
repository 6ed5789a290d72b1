// Time zones: offsets by instant, and instants by local time. Instants are unix milliseconds.
import { Temporal } from 'temporal-polyfill'

/** A span of time in which a zone's offset stays: from `fromMs`, before `untilMs`. */
type Period = { fromMs: number; untilMs: number; offsetMs: number }

/** How many zones are remembered. There are about 600 names; only odd spellings bring more. */
export const maxRememberedZones = 1000

// The library takes 15 µs for a question; nearly all are about the span that the last one was about.
const periods = new Map<string, Period>()

// Also keeps long garbage and bare offsets from the library, which would take the latter for zones.
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/
const fixedOffset = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/
const dayMs = 86_400_000

/** Whether this is the name of a zone (IANA, any case). */
export function isTimezone(name: string): boolean {
  return periods.has(name) || timezoneName(name) !== undefined
}

/** The name of a zone as it is written (`Europe/Berlin` of `europe/berlin`; an alias stays one), or undefined if it is none. */
export function timezoneName(name: string): string | undefined {
  if (!zoneName.test(name)) return undefined
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Milliseconds to add to an instant to get local time in this zone. Throws a RangeError for an unknown zone. */
export function offsetAt(ms: number, timezone: string): number {
  return periodOf(ms, timezone).offsetMs
}

/** The milliseconds of an offset as `+05:30`, or null if the text is none. */
export function readOffset(text: string): number | null {
  const parts = fixedOffset.exec(text)
  if (parts === null) return null
  const minutes = Number(parts[2]) * 60 + Number(parts[3])
  return (parts[1] === '-' ? 0 - minutes : minutes) * 60_000
}

/**
 * The instant of a local time, itself given as if it were UTC. Of two possible ones (autumn) the one nearer to
 * `nearMs`; a local time that is skipped (spring) is shifted forward. Throws a RangeError for an unknown zone.
 */
export function instantOf(localMs: number, timezone: string, nearMs: number): number {
  const known = periods.get(timezone)
  if (known !== undefined) {
    const instantMs = localMs - known.offsetMs
    // No change of offset reaches further than a day, so this far inside a period there is only one instant.
    if (instantMs > known.fromMs + 2 * dayMs && instantMs < known.untilMs - 2 * dayMs) return instantMs
  }
  const local = Temporal.Instant.fromEpochMilliseconds(localMs).toZonedDateTimeISO('UTC').toPlainDateTime()
  const resolve = (disambiguation: 'earlier' | 'later') =>
    local.toZonedDateTime(timezone, { disambiguation }).epochMilliseconds
  const earlier = resolve('earlier')
  const later = resolve('later')
  const isSkipped = earlier + offsetAt(earlier, timezone) !== localMs
  return isSkipped || Math.abs(later - nearMs) < Math.abs(earlier - nearMs) ? later : earlier
}

function periodOf(ms: number, timezone: string): Period {
  const known = periods.get(timezone)
  if (known !== undefined && ms >= known.fromMs && ms < known.untilMs) return known
  const period = findPeriod(ms, timezone)
  if (periods.size >= maxRememberedZones) periods.clear()
  periods.set(timezone, period)
  return period
}

function findPeriod(ms: number, timezone: string): Period {
  const moment = Temporal.Instant.fromEpochMilliseconds(Math.floor(ms)).toZonedDateTimeISO(timezone)
  // "previous" is strictly before: one millisecond on, a change at this very moment is found too.
  const from = moment.add({ milliseconds: 1 }).getTimeZoneTransition('previous')
  const until = moment.getTimeZoneTransition('next')
  return {
    fromMs: from?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    untilMs: until?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offsetMs: moment.offsetNanoseconds / 1e6,
  }
}
