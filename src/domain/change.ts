// From one state to the next: what listeners are sent follows from what differs between the two.
import { emptyRecord, type MetadataRecord } from './record.ts'
import type { Change, ChannelState, PlayEntry } from './state.ts'

/** What a transition makes of a state. */
export type Outcome = {
  state: ChannelState
  play: PlayEntry | null
  warnings?: string[]
  removed?: boolean
}

/**
 * The change between two states, or null where there is nothing to show and nothing new to remember.
 * A record is sent where it is another object than before; a `next` that has ceased to be leaves its empty record,
 * before the `now` that caused it (rule 16). `momentMs`: when this happened, unix milliseconds.
 */
export function changeOf(before: ChannelState, outcome: Outcome, momentMs: number): Change | null {
  const { state: after, play, warnings = [], removed = false } = outcome
  if (removed) return { state: after, now: null, next: null, send: [], play, warnings, removed }
  const next = nextShown(deliveredNext(before), deliveredNext(after), momentMs)
  const now = after.now?.record ?? null
  const send: Change['send'] = []
  if (next !== deliveredNext(before)) send.push('next')
  if (now !== null && now !== before.now?.record) send.push('now')
  if (send.length === 0 && play === null && !remembersMore(before, after)) return null
  return { state: after, now, next, send, play, warnings, removed }
}

/** The next that players get: none where the channel's `announceNext` is false (rule 16). */
export function deliveredNext({ next, context }: ChannelState): MetadataRecord | null {
  return context?.announceNext ? (next?.record ?? null) : null
}

function nextShown(
  before: MetadataRecord | null,
  after: MetadataRecord | null,
  momentMs: number,
): MetadataRecord | null {
  return before !== null && after === null ? emptyRecord(before, momentMs) : after
}

function remembersMore(before: ChannelState, after: ChannelState): boolean {
  const isSameContext =
    before.context === after.context || JSON.stringify(before.context) === JSON.stringify(after.context)
  const isSameHeld =
    before.held.length === after.held.length && before.held.every((held, index) => held === after.held[index])
  return before.now !== after.now || before.next !== after.next || !isSameHeld || !isSameContext
}
