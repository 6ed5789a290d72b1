// The intake's part of rule 15: a start too far ahead is the fault of the pusher's clock.
import type { Tracktype } from './event.ts'
import { formatUtc } from './time.ts'

/** A start this little ahead is shown at once (rule 15). */
export const shownAtOnceMs = 250

/** The start as answered, whether the pusher gave it, and what is to be said about it. */
export type JudgedStart = { startMs: number; explicit: boolean; warning: string | null }

/**
 * The start of a push: the pushed time, or the receipt where none was given or a `now` lies further ahead than it may
 * be held ("wrong clock": not explicit, with a warning naming the pushed time). Times in unix milliseconds.
 */
export function judgeClock(
  explicitMs: number | null,
  receivedMs: number,
  holdSeconds: number,
  tracktype: Tracktype,
): JudgedStart {
  if (explicitMs === null) return { startMs: receivedMs, explicit: false, warning: null }
  const aheadMs = explicitMs - receivedMs
  if (tracktype === 'next' || aheadMs < shownAtOnceMs || aheadMs <= holdSeconds * 1000) {
    return { startMs: explicitMs, explicit: true, warning: null }
  }
  const warning = `time: ${formatUtc(explicitMs)} lies too far ahead, the time of receipt is used`
  return { startMs: receivedMs, explicit: false, warning }
}
