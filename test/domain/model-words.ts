// The words of rules 13 to 17, as docs/spec.md defines them, for the model.
import type { ChannelContext, Element, PushEvent } from '../../src/domain/event.ts'

/** What listeners see of an element. Times in unix milliseconds. */
export type Seen = Element & { type: 'now' | 'next'; source: 'metapush' | 'fallback'; startMs: number }

/** A push as it is judged: at once, or at its start if it was held. */
export type Said = {
  push: PushEvent
  element: Element
  startMs: number
  arrivalMs: number
  /** The explicit time, unless it was found to be a wrong clock. */
  explicitMs: number | null
  wasHeld: boolean
}

const second = 1000
const minute = 60 * second

/** Rule 13, "Repeat". */
export function isRepeat(said: Said, current: Said, endMs: number | null): boolean {
  if (!sameText(said.element, current.element)) return false
  if (said.arrivalMs - current.arrivalMs <= 15 * second) return true
  if (isOtherId(said, current)) return false
  const apartMs = apart(said, current)
  if (apartMs !== null && apartMs > 15 * second) return false
  return apartMs === 0 || endMs === null || said.arrivalMs < endMs + 10 * second
}

/** Rule 13, the corrections that are no repeats. */
export function isMended(said: Said, current: Said, lastsUntilMs: number): boolean {
  if (!sameGivenId(said.push, current.push)) return false
  if (apart(said, current) === 0) return true
  // The text is silent on "equal" where both are, or where nothing is: a typo is one text mended beside another.
  const sameArtist = said.element.artist === current.element.artist
  const sameSong = said.element.song === current.element.song
  const kept = sameArtist ? said.element.artist : said.element.song
  return sameArtist !== sameSong && kept !== '' && said.arrivalMs < lastsUntilMs
}

export function noOtherIdOrTime(said: Said, now: Said): boolean {
  const apartMs = apart(said, now)
  return !isOtherId(said, now) && (apartMs === null || apartMs <= 15 * second)
}

/** How far the explicit times are apart; null where one has none. */
function apart(a: Said, b: Said): number | null {
  return a.explicitMs === null || b.explicitMs === null ? null : Math.abs(a.explicitMs - b.explicitMs)
}

function isOtherId(a: Said, b: Said): boolean {
  const [idA, idB] = [givenId(a.push), givenId(b.push)]
  return idA !== null && idB !== null && idA !== idB
}

export function sameGivenId(a: PushEvent, b: PushEvent): boolean {
  return givenId(a) !== null && givenId(a) === givenId(b)
}

export function givenId(push: PushEvent): string | null {
  return push.given.includes('id') ? push.element.id : null
}

export type Text = { artist: string; song: string }

export function sameText(a: Text, b: Text): boolean {
  return a.artist === b.artist && a.song === b.song
}

export function isEmpty(element: Element): boolean {
  return element.artist === '' && element.song === ''
}

/** The end of a play; null where its duration is not known. */
export function end({ element, startMs, arrivalMs }: Said): number | null {
  if (element.duration === 0) return null
  const isSlowClock = startMs < arrivalMs - 10 * minute
  return (isSlowClock ? arrivalMs : startMs) + element.duration * second
}

export function lastsUntil(play: Said): number {
  return end(play) ?? play.arrivalMs + 10 * minute
}

export function startWithoutTime(push: PushEvent, timeMs: number): number {
  return Math.abs(push.receivedMs - timeMs) > 15 * second ? timeMs : push.receivedMs
}

/** Given fields replace, the others and the id stay. */
export function corrected(element: Element, push: PushEvent, context: ChannelContext): Element {
  const result: Record<string, unknown> = { ...element }
  for (const field of push.given) {
    if (field === 'id') continue
    const isCoverShown = field === 'cover' && push.element.cover === (element.cover || context.cover)
    if (!isCoverShown) result[field] = push.element[field]
  }
  return result as Element
}

export function same(a: Element, b: Element): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

export function seen(
  type: Seen['type'],
  { push, element, startMs }: Pick<Said, 'push' | 'element' | 'startMs'>,
  source: Seen['source'] = 'metapush',
): Seen {
  const cover = element.cover || push.context.cover
  return { ...element, cover, type, source, startMs }
}
