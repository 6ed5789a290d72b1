// The track type of a push (spec 3, rule 8).
import type { Tracktype } from './event.ts'

/** `now` or `next` in any case; empty is now; null if it is neither. */
export function readTracktype(text: string): Tracktype | null {
  const name = text.trim().toLowerCase()
  if (name === '') return 'now'
  return name === 'now' || name === 'next' ? name : null
}
