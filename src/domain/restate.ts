// Saying a channel's state again: as it is, or as it should have been.
import { isDeepStrictEqual } from 'node:util'
import { changeOf, deliveredNext } from './change.ts'
import type { MetadataRecord } from './record.ts'
import type { Change, ChannelState, Play, PlayEntry } from './state.ts'

/** The same state once more: nothing goes to listeners, and nothing was played. */
export function restated(state: ChannelState): Change {
  return {
    state,
    now: state.now?.record ?? null,
    next: deliveredNext(state),
    send: [],
    play: null,
    warnings: [],
    removed: false,
  }
}

/**
 * The change that puts `right` in the place of `shown`, or null where they say the same. What listeners see of the
 * difference is sent to them. `momentMs`: the start of the empty record of a `next` that ceases so (rule 16), unix
 * milliseconds.
 */
export function corrected(shown: ChannelState, right: ChannelState, momentMs: number): Change | null {
  if (isSame(shown, right)) return null
  if (isRemoved(right)) return { ...restated(right), removed: true }
  const before = { ...shown, now: sameRecord(shown.now, right.now), next: sameRecord(shown.next, right.next) }
  const play = playOf(before.now, right.now)
  return changeOf(before, { state: right, play }, momentMs) ?? restated(right)
}

/** A correction where another record was shown; the history then has what is right. */
function playOf(shown: Play | null, right: Play | null): PlayEntry | null {
  if (right === null || right.record === shown?.record) return null
  return { kind: shown === null ? 'new' : 'correction' }
}

/** Nothing is known but when the channel was removed. */
function isRemoved({ now, next, held, recent, context, deletedRevision }: ChannelState): boolean {
  return deletedRevision > 0 && !now && !next && !context && held.length + recent.length === 0
}

/** With the very record of `right` where the two are equal: what is the same object is not sent. */
function sameRecord<T extends Play>(shown: T | null, right: T | null): T | null {
  if (shown === null || right === null || !isSame(shown.record, right.record)) return shown
  return { ...shown, record: right.record }
}

/** Whether two say the same, one of them perhaps read back from its JSON. */
function isSame(one: ChannelState | MetadataRecord, other: ChannelState | MetadataRecord): boolean {
  const oneJson = JSON.stringify(one)
  const otherJson = JSON.stringify(other)
  return oneJson === otherJson || isDeepStrictEqual(JSON.parse(oneJson), JSON.parse(otherJson))
}
