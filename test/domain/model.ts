// What a push means (rules 13 to 17), said a second time: written from the text of docs/spec.md alone, so that it
// shares no thought with the reducer. It is naive on purpose: it changes in place, keeps whole lists and looks
// through all of them. Where the text leaves a choice, the comment says "The text is silent".
import type { ChannelContext, LoggedEvent, PushEvent } from '../../src/domain/event.ts'
import { emptyElement } from '../helpers/pushes.ts'
import {
  corrected,
  end,
  givenId,
  isEmpty,
  isMended,
  isRepeat,
  lastsUntil,
  noOtherIdOrTime,
  type Said,
  type Seen,
  same,
  sameGivenId,
  sameText,
  seen,
  startWithoutTime,
} from './model-words.ts'

export type Entry = { kind: string; seen: Seen }

/** What one event brought about, in order. */
export type Outcome = { sent: Seen[]; plays: Entry[] }

type Current = Said & { source: Seen['source'] }
type Pending = Said & { endMs: number; announced: boolean }
type Held = { push: PushEvent; startMs: number }
type Past = { artist: string; song: string; id: string | null; pushedMs: number | null }
type Due = { atMs: number; happen: () => void }

const second = 1000
const minute = 60 * second

export class Model {
  now: Current | null = null
  next: Pending | null = null
  held: Held[] = []
  /** All plays ever shown, oldest first. */
  past: Past[] = []
  context: ChannelContext | null = null
  #deletedRevision = 0
  #outcome: Outcome = { sent: [], plays: [] }

  tell({ timeMs, event }: LoggedEvent): Outcome {
    this.#outcome = { sent: [], plays: [] }
    if (event.kind === 'tick') this.#letTimePass(timeMs)
    else if (event.kind === 'delete') this.#delete(event.revision, timeMs)
    else if (event.context.revision > this.#deletedRevision) {
      this.#letTimePass(timeMs)
      this.#hear(event, timeMs)
    }
    return this.#outcome
  }

  /** The text is silent on `announceNext` being changed: a push hides at once what is pending, or reveals what it leaves. */
  #hear(push: PushEvent, timeMs: number) {
    this.context = push.context
    if (!push.context.announceNext) this.#hideNext(timeMs)
    const before = this.next
    const sentBefore = this.#outcome.sent.length
    if (push.kind === 'next') this.#hearNext(push, timeMs)
    else this.#hearNow(push, timeMs)
    const { next } = this
    if (!next || next !== before || next.announced || !push.context.announceNext) return
    next.announced = true
    this.#outcome.sent.splice(sentBefore, 0, seen('next', next))
  }

  /** What a poll gets. */
  get shownNow(): Seen | null {
    return this.now && seen('now', this.now, this.now.source)
  }

  get shownNext(): Seen | null {
    return this.next && this.context?.announceNext ? seen('next', this.next) : null
  }

  /** When something falls due next. */
  get dueMs(): number | null {
    return this.#dues()[0]?.atMs ?? null
  }

  // Time

  #letTimePass(untilMs: number) {
    for (let due = this.#dues()[0]; due && due.atMs <= untilMs; due = this.#dues()[0]) due.happen()
  }

  /** Earliest first. The text is silent on what comes first at one moment: held, next, fallback. */
  #dues(): Due[] {
    const dues: Due[] = this.held.map(held => ({ atMs: held.startMs, happen: () => this.#start(held) }))
    const { now, next } = this
    if (next) dues.push({ atMs: next.endMs, happen: () => this.#ceaseNext(next.endMs) })
    const fallbackMs = now && this.#fallbackMs(now)
    if (fallbackMs !== null) dues.push({ atMs: fallbackMs, happen: () => this.#fallBack(fallbackMs) })
    return dues.sort((a, b) => a.atMs - b.atMs)
  }

  #start(held: Held) {
    this.held = this.held.filter(other => other !== held)
    const { push, startMs } = held
    this.#judge({
      push,
      element: push.element,
      startMs,
      arrivalMs: startMs,
      explicitMs: startMs,
      wasHeld: true,
    })
  }

  // Rule 17

  #fallbackMs(now: Current): number | null {
    const fallback = this.context?.fallback
    if (!fallback || now.source === 'fallback') return null
    const endMs = end(now)
    if (endMs !== null) return endMs + fallback.afterSeconds * second
    if (fallback.unknownAfterSeconds === undefined) return null
    return now.arrivalMs + fallback.unknownAfterSeconds * second
  }

  #fallBack(dueMs: number) {
    const { now, context } = this
    if (!now || !context?.fallback) throw new Error('no fallback')
    const { artist, song } = context.fallback
    const element = { ...emptyElement, artist, song, id: `fallback ${dueMs}` }
    const push = { ...now.push, context }
    const said = { push, element, startMs: dueMs, arrivalMs: dueMs, explicitMs: null, wasHeld: false }
    this.now = { ...said, source: 'fallback' }
    this.#send(seen('now', this.now, 'fallback'))
    this.#outcome.plays.push({ kind: 'new', seen: seen('now', this.now, 'fallback') })
  }

  // A `now`

  #hearNow(push: PushEvent, timeMs: number) {
    const startMs = push.explicit ? push.startMs : startWithoutTime(push, timeMs)
    const aheadMs = startMs - timeMs
    const tooFarMs = (push.context.holdSeconds + 15) * second
    const twins = this.held.filter(held => sameGivenId(held.push, push))
    this.held = this.held.filter(held => !twins.includes(held))
    if (twins.length > 0 && isEmpty(push.element)) return
    if (push.explicit && aheadMs >= 250 && aheadMs <= tooFarMs) return this.#hold({ push, startMs })
    const isWrongClock = push.explicit && aheadMs > tooFarMs
    this.#judge({
      push,
      element: push.element,
      startMs: isWrongClock ? timeMs : startMs,
      arrivalMs: timeMs,
      explicitMs: push.explicit && !isWrongClock ? startMs : null,
      wasHeld: false,
    })
  }

  /** Rule 15. */
  #hold(held: Held) {
    for (const other of this.held) {
      const isRepeat =
        sameText(other.push.element, held.push.element) &&
        Math.abs(other.startMs - held.startMs) <= 15 * second
      if (!isRepeat) continue
      const element = corrected(other.push.element, held.push, other.push.context)
      const brought = held.push.given.filter(field => field !== 'id')
      other.push = { ...other.push, element, given: [...other.push.given, ...brought] }
      return
    }
    this.held.push(held)
    this.held.sort((a, b) => a.startMs - b.startMs)
    if (this.held.length <= 32) return
    const furthest = this.held.pop()
    if (furthest) this.#late('too many held', furthest.push, furthest.startMs)
  }

  #judge(said: Said) {
    const { now } = this
    if (now?.source !== 'metapush') return this.#play(said)
    if (isRepeat(said, now, end(now)) || isMended(said, now, lastsUntil(now))) return this.#correctNow(said)

    const olderMs = said.explicitMs !== null && now.explicitMs !== null ? now.explicitMs - said.explicitMs : 0
    const isOlder = olderMs >= 2 * second && olderMs <= 10 * minute && said.arrivalMs < lastsUntil(now)
    if (isOlder) return this.#late('older', said.push, said.startMs)
    if (said.wasHeld) return this.#play(said)

    const isOvertaken =
      said.push.intake === now.push.intake && said.push.receivedMs <= now.push.receivedMs - second
    if (isOvertaken) return this.#late('overtaken', said.push, said.startMs)
    if (olderMs <= 10 * minute) return this.#play(said)

    if (this.#isOldList(said.push)) return this.#late('old list', said.push, said.startMs)
    // The text is silent on rule 13 for a push whose time proves wrong only here: it is shown at once.
    this.#play({ ...said, startMs: said.arrivalMs, explicitMs: null })
  }

  #isOldList(push: PushEvent): boolean {
    return this.past.slice(-20).some(past => {
      const isSame = sameText(past, push.element) || (past.id !== null && past.id === givenId(push))
      return isSame && past.pushedMs === push.startMs
    })
  }

  #play(said: Said) {
    this.#leaveNext(said)
    this.now = { ...said, source: 'metapush' }
    const { artist, song } = said.element
    const pushedMs = said.push.explicit ? said.push.startMs : null
    this.past.push({ artist, song, id: givenId(said.push), pushedMs })
    this.#send(seen('now', this.now))
    this.#outcome.plays.push({ kind: 'new', seen: seen('now', this.now) })
  }

  #correctNow(said: Said) {
    const { now } = this
    if (!now) return
    const element = corrected(now.element, said.push, now.push.context)
    if (same(element, now.element)) return
    this.now = { ...now, element }
    this.#send(seen('now', this.now))
    this.#outcome.plays.push({ kind: 'correction', seen: seen('now', this.now) })
  }

  #late(reason: string, push: PushEvent, startMs: number) {
    const record = seen('now', { push, element: push.element, startMs })
    this.#outcome.plays.push({ kind: `late ${reason}`, seen: record })
  }

  // A `next` (rule 16)

  #hearNext(push: PushEvent, timeMs: number) {
    const startMs = push.explicit ? push.startMs : startWithoutTime(push, timeMs)
    const explicitMs = push.explicit ? startMs : null
    const said: Said = { push, element: push.element, startMs, arrivalMs: timeMs, explicitMs, wasHeld: false }
    if (isEmpty(push.element)) return this.#ceaseNext(timeMs)
    const { now, next } = this
    if (now?.source === 'metapush' && sameText(said.element, now.element) && noOtherIdOrTime(said, now))
      return
    // The text is silent on how long a `next` lasts for the mending of a typo: as a `now` with its start does.
    if (next && (isRepeat(said, next, next.endMs) || isMended(said, next, lastsUntil(next)))) {
      return this.#correctNext(said, next)
    }

    const endOfNow = now ? end(now) : null
    const begin = explicitMs !== null ? Math.max(explicitMs, timeMs) : Math.max(endOfNow ?? timeMs, timeMs)
    const endMs = begin + (push.element.duration || 15 * 60) * second + minute
    this.next = { ...said, endMs, announced: push.context.announceNext }
    if (push.context.announceNext) this.#send(seen('next', this.next))
  }

  #correctNext(said: Said, next: Pending) {
    const element = corrected(next.element, said.push, next.push.context)
    if (same(element, next.element)) return
    this.next = { ...next, element, announced: this.context?.announceNext ?? false }
    if (this.next.announced) this.#send(seen('next', this.next))
  }

  /** What a new play does to the pending `next`. */
  #leaveNext(said: Said) {
    const { next } = this
    if (!next) return
    const isThatNext = sameText(said.element, next.element) || sameGivenId(said.push, next.push)
    const isShort = said.element.duration >= 1 && said.element.duration <= 60
    const isJingle = said.element.etype >= 101 && said.element.etype <= 105
    const isYoung = said.arrivalMs - next.arrivalMs < 30 * second
    if (isThatNext || !(isShort || isJingle || isYoung)) this.#ceaseNext(said.arrivalMs)
  }

  #ceaseNext(momentMs: number) {
    this.#hideNext(momentMs)
    this.next = null
  }

  /** Listeners are told that there is none, if they were told of one. */
  #hideNext(momentMs: number) {
    if (!this.next?.announced) return
    this.next.announced = false
    const element = { ...emptyElement, id: this.next.element.id }
    this.#send({ ...element, type: 'next', source: 'metapush', startMs: momentMs })
  }

  // The rest

  /** Rules 13 to 17 say nothing of removals: one that is told after a push to the successor is too late. */
  #delete(revision: number, timeMs: number) {
    if (revision <= this.#deletedRevision) return
    if (this.context && revision <= this.context.revision) return
    this.#letTimePass(timeMs)
    this.#deletedRevision = revision
    this.now = null
    this.next = null
    this.held = []
    this.past = []
    this.context = null
  }

  #send(record: Seen) {
    this.#outcome.sent.push(record)
  }
}
