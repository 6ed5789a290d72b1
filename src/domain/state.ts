// What the reducer knows of a channel between two events.
import type { ChannelContext, PushEvent } from './event.ts'
import type { MetadataRecord } from './record.ts'

/** A record that is, or will be, shown, with what the next push is compared with (rules 13 to 16). */
export type Play = {
  record: MetadataRecord
  /** Whether the pusher gave the id; a generated one compares with nothing. */
  idGiven: boolean
  /** Unix milliseconds. */
  startMs: number
  /** The start was given by the pusher and not found to be a wrong clock. */
  explicit: boolean
  /** The log's time of the event; for a held push its start. Unix milliseconds. */
  arrivalMs: number
  /** The intake's clock at receipt. Unix milliseconds. */
  receivedMs: number
  intake: string
}

/** The pending `next`: at most one (rule 16). */
export type PendingNext = Play & {
  /** When it is dropped, fixed on arrival. Unix milliseconds. */
  endMs: number
}

/** A `now` that waits for its start (rule 15). */
export type HeldPush = {
  /** Sequence of its event in EVENTS. */
  sequence: number
  push: PushEvent
}

/** One of the last 20 plays, enough to know it again by its pushed time (rule 14). */
export type TimedPlay = {
  /** Hash of artist and song. */
  text: string
  /** Given id, or empty. */
  id: string
  /** The pushed time in unix milliseconds. */
  pushedMs: number
}

export type ChannelState = {
  now: Play | null
  next: PendingNext | null
  /** In order of start. */
  held: HeldPush[]
  /** Newest last, at most 20; null for a play that brought no time: it is never known again. */
  recent: (TimedPlay | null)[]
  /** The last push's context; null before the first. */
  context: ChannelContext | null
  /** Registry revision of the channel's last removal; its own and older events are ignored. 0: never removed. */
  deletedRevision: number
}

/** A channel of which nothing was ever said. */
export const initialState: ChannelState = {
  now: null,
  next: null,
  held: [],
  recent: [],
  context: null,
  deletedRevision: 0,
}

/** What a change was, for the history: late plays carry the record that was not shown. */
export type PlayEntry = { kind: 'new' | 'correction' } | LatePlay

/** A play that nobody was shown, and why. */
export type LatePlay = { kind: 'late'; reason: LateReason; record: MetadataRecord }

/** Why a play was never shown (rules 14 and 15). */
export type LateReason = 'older' | 'overtaken' | 'old list' | 'too many held'

/** One change of what listeners see or of what the reducer must remember: one value in the bucket `channel`. */
export type Change = {
  state: ChannelState
  /** The record shown as current after the change. */
  now: MetadataRecord | null
  /** The record shown as following; once, when it ceased, its empty record. */
  next: MetadataRecord | null
  /** Which of the two go to listeners, in this order. */
  send: Array<'next' | 'now'>
  play: PlayEntry | null
  warnings: string[]
  /** The channel was removed: its shown state goes. */
  removed: boolean
}
