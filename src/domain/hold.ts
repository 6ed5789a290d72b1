// Pushes ahead of their start (rule 15): kept in the channel's state until then.
import { type Candidate, clockToleranceMs } from './candidate.ts'
import { shownAtOnceMs } from './clock.ts'
import type { PushEvent } from './event.ts'
import type { HeldPush } from './state.ts'

const sameStartMs = 15_000

/** Most held pushes of a channel, and their bytes together. */
export const maxHeld = 32
export const maxHeldBytes = 256 * 1024

/** Whether a `now` is to wait; one that lies beyond the hold is a wrong clock. */
export function aheadOf({
  explicit,
  startMs,
  arrivalMs,
  context,
}: Candidate): 'at once' | 'held' | 'wrong clock' {
  const aheadMs = startMs - arrivalMs
  if (!explicit || aheadMs < shownAtOnceMs) return 'at once'
  // The intake measured with its own clock, so a little more than the hold is still believed.
  return aheadMs <= context.holdSeconds * 1000 + clockToleranceMs ? 'held' : 'wrong clock'
}

/** The held push that this one replaces or cancels: the one of the same given id. */
export function heldOfSameId(held: HeldPush[], push: Candidate): HeldPush | undefined {
  if (!push.given.includes('id')) return undefined
  return held.find(({ push: other }) => other.given.includes('id') && other.element.id === push.element.id)
}

/** The held push that this one repeats: the same text, waiting for about the same start. */
export function heldTwin(held: HeldPush[], { element, startMs }: Candidate): HeldPush | undefined {
  return held.find(
    ({ push }) =>
      push.element.song === element.song &&
      push.element.artist === element.artist &&
      Math.abs(push.startMs - startMs) <= sameStartMs,
  )
}

/** A held push with the given fields of its repeat; null where that changes nothing (rule 13). */
export function heldCorrected(push: PushEvent, repeat: Candidate): PushEvent | null {
  const fields = repeat.given.filter(
    field => field !== 'id' && JSON.stringify(repeat.element[field]) !== JSON.stringify(push.element[field]),
  )
  if (fields.length === 0) return null
  const brought = Object.fromEntries(fields.map(field => [field, repeat.element[field]]))
  return {
    ...push,
    element: { ...push.element, ...brought },
    given: [...new Set([...push.given, ...fields])],
  }
}

/** The held pushes with one more, in order of start, and those for which there is no room: the furthest ahead. */
export function holdOneMore(held: HeldPush[], entry: HeldPush): { held: HeldPush[]; dropped: HeldPush[] } {
  const all = [...held, entry].sort((a, b) => a.push.startMs - b.push.startMs || a.sequence - b.sequence)
  let bytes = 0
  const room = all.findIndex((one, index) => {
    bytes += Buffer.byteLength(JSON.stringify(one))
    return index >= maxHeld || bytes > maxHeldBytes
  })
  return room < 0 ? { held: all, dropped: [] } : { held: all.slice(0, room), dropped: all.slice(room) }
}
