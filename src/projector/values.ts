// What one event writes: its changes as values, with the sequences that they will get.
import type { LoggedEvent } from '../domain/event.ts'
import { reduce } from '../domain/now-next.ts'
import type { Change, LatePlay } from '../domain/state.ts'
import { encodeValue } from '../domain/value.ts'
import type { ValueToWrite } from '../log/channel-bucket.ts'
import { encodePosition } from '../log/position.ts'
import type { Known } from './channel-states.ts'

export type Folded = {
  values: ValueToWrite[]
  /** What is known of the channel once they are written. */
  known: Known
  /** What nobody is shown of it (rules 14 and 15). */
  late: LatePlay[]
}

/**
 * Folds one event onto what is known of its channel. lastSequence: of the bucket, before these values.
 * Throws where the reducer does; nothing is written then.
 */
export function foldEvent(
  known: Known,
  event: LoggedEvent,
  incarnation: string,
  lastSequence: number,
): Folded {
  const changes = reduce(known.state, event)
  const values: ValueToWrite[] = []
  const late: LatePlay[] = []
  let { state, sequence: prev } = known
  for (const [index, change] of changes.entries()) {
    const sequence = lastSequence + index + 1
    const place = { event: event.sequence, done: index === changes.length - 1, prev }
    values.push(valueOfChange(event.channelkey, change, place, incarnation, sequence))
    if (change.play?.kind === 'late') late.push(change.play)
    state = change.state
    prev = change.removed ? 0 : sequence
  }
  return { values, known: { state, sequence: prev }, late }
}

/** Below the max_payload of `nats.conf`, with room for the headers. What is larger could never be stored. */
export const maxValueBytes = 1_000_000

/** The value of one change; sequence: that which it will get. Throws a RangeError where it is too large to be stored. */
export function valueOfChange(
  channelkey: string,
  change: Change,
  place: { event: number; done: boolean; prev: number },
  incarnation: string,
  sequence: number,
): ValueToWrite {
  if (change.removed) {
    return { channelkey, json: null, event: place.event, revision: change.state.deletedRevision }
  }
  const positions = {
    next: encodePosition(incarnation, { sequence, slot: 0 }),
    now: encodePosition(incarnation, { sequence, slot: 1 }),
  }
  const json = encodeValue(change, place, positions)
  const bytes = Buffer.byteLength(json)
  if (bytes > maxValueBytes) throw new RangeError(`a value of ${bytes} bytes is too large to be stored`)
  return { channelkey, json }
}
