// The pending `next`: how long it lives and what a new `now` does to it (rule 16).
import type { Candidate } from './candidate.ts'
import { playOf } from './candidate.ts'
import type { ChannelState, PendingNext } from './state.ts'
import { endMs, hasSameId, isSameText } from './verdict.ts'

const unknownDurationMs = 900_000
const graceMs = 60_000
const youngMs = 30_000
const shortSeconds = 60
const spokenTypes = { from: 101, to: 105 }

/** The pending next that a push makes; its end is fixed here, on arrival. */
export function pendingNext(push: Candidate, now: ChannelState['now']): PendingNext {
  const durationMs = push.element.duration * 1000 || unknownDurationMs
  return { ...playOf(push), endMs: expectedStartMs(push, now) + durationMs + graceMs }
}

/** Its explicit time, else the end of the current `now`; never before its arrival. */
function expectedStartMs(push: Candidate, now: ChannelState['now']): number {
  const startMs = push.explicit ? push.startMs : now === null ? null : endMs(now)
  return Math.max(startMs ?? push.arrivalMs, push.arrivalMs)
}

/** The pending next after a new `now` has begun: null where that was the next itself, or where it drops it. */
export function nextBeside(now: Candidate, next: PendingNext | null): PendingNext | null {
  if (next === null || isSameText(now, next.record) || hasSameId(now, next)) return null
  return isInterlude(now) || now.arrivalMs - next.arrivalMs < youngMs ? next : null
}

/** A jingle, an ad, the news: something between songs, after which the announced one may still come. */
function isInterlude({ element: { duration, etype } }: Candidate): boolean {
  const isShort = duration >= 1 && duration <= shortSeconds
  return isShort || (etype >= spokenTypes.from && etype <= spokenTypes.to)
}
