// Work that has its turn in a line.
import { Problem } from '../api/errors.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { AppendQueue, Place } from './append-queue.ts'

/** Seconds after which a sender may try again while the log does not answer. */
const unavailableRetrySeconds = 2

/**
 * Does the work with a place in a line, taken at once; `isKnown`: its sender is known here. Throws what it throws, a
 * lost log as 503, and `busy` where no place is left.
 */
export async function inTurn<T>(
  queue: AppendQueue,
  lane: string,
  isKnown: boolean,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const place = queue.enter(lane, isKnown)
  try {
    return await work(place)
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error
    throw new Problem('unavailable', undefined, { retryAfter: unavailableRetrySeconds })
  } finally {
    place.leave()
  }
}
