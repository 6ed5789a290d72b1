// Live records for single listeners. A metaid is followed only while a socket of it is here, so that what the bucket
// holds besides costs this edge nothing. Topics are named by metaid; whoever publishes knows no socket.
import { Problem } from '../api/errors.ts'
import { difference, type Overlay, type Sight, visibleOverlay } from '../domain/listener.ts'
import { type Stamp, stampOf } from '../domain/stamp.ts'
import type { Listeners, StoredListener } from '../log/listeners.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { ChannelStates, Frame } from './channel-state.ts'
import { personal, viewOf } from './listener-view.ts'
import type { Selection } from './route.ts'

export type FeedOptions = {
  listeners: Listeners
  states: ChannelStates
  /** Sends a record to the sockets of a metaid. */
  deliver(metaid: string, type: Frame['type'], bytes: Uint8Array): void
  metrics: Metrics
  log: Logger
  /** Metaids followed at once; past it sockets of others get 503. */
  maxFollowed?: number
  /** Unix milliseconds; default: this machine's clock. */
  clock?: () => number
}

export const defaultMaxFollowed = 50_000
/** A session is renewed when its last sign of life is so old (rule 28). */
export const renewAfterMs = 60 * 60_000
const sweepMs = 60_000
/** Renewals of one sweep: all followed ones, spread over an hour. */
const maxRenewals = 1_000
/** How long one slice of a channel's fan-out may hold up everything else. */
const sliceMs = 5
/** Timers run up to 2^31 - 1 ms; an end further off is looked at again then. */
const maxTimerMs = 2 ** 31 - 1

type Followed = {
  readonly metaid: string
  unfollow: () => void
  sockets: number
  /** null until it was read first: nothing was sent yet. */
  stored: StoredListener | null
  /** Where it stands in #byChannel. */
  channelkey: string | null
  stamp: Stamp | null
  /** The overlay that its sockets show. */
  overlay: Overlay | null
  overlayEnd: NodeJS.Timeout | undefined
  /** The channel's records that it is still to be sent. */
  pending: Frame[]
}

export class ListenerFeed {
  readonly #options: FeedOptions & { maxFollowed: number; clock: () => number }
  readonly #followed = new Map<string, Followed>()
  readonly #byChannel = new Map<string, Set<Followed>>()
  readonly #behind = new Set<Followed>()
  readonly #sweep: NodeJS.Timeout
  #slice: NodeJS.Immediate | undefined

  constructor(options: FeedOptions) {
    this.#options = { maxFollowed: defaultMaxFollowed, clock: Date.now, ...options }
    this.#sweep = setInterval(() => this.#renewAll(), sweepMs).unref()
  }

  stop(): void {
    clearInterval(this.#sweep)
    clearImmediate(this.#slice)
    for (const followed of this.#followed.values()) {
      clearTimeout(followed.overlayEnd)
      followed.unfollow()
    }
    this.#followed.clear()
    this.#byChannel.clear()
  }

  /** Throws a Problem where no further metaid can be followed. */
  requireRoom(metaid: string): void {
    const { maxFollowed, metrics } = this.#options
    if (this.#followed.has(metaid) || this.#followed.size < maxFollowed) return
    metrics.edgeRejected.inc({ limit: 'followed-listeners' })
    throw new Problem('busy', 'This edge follows as many listeners as it may.', { retryAfter: 5 })
  }

  /** A socket of this listener comes; what it is to be sent first is asked for right after, with `snapshot`. */
  join(metaid: string): void {
    let followed = this.#followed.get(metaid)
    if (followed === undefined) {
      followed = this.#follow(metaid)
      this.#followed.set(metaid, followed)
      this.#options.metrics.edgeFollowed.set(this.#followed.size)
    }
    followed.sockets++
    // The newcomer's snapshot holds what the others have yet to be sent.
    this.#flush(followed)
  }

  leave(metaid: string): void {
    const followed = this.#followed.get(metaid)
    if (followed === undefined || --followed.sockets > 0) return
    this.#followed.delete(metaid)
    this.#behind.delete(followed)
    this.#moveTo(followed, null)
    clearTimeout(followed.overlayEnd)
    followed.unfollow()
    this.#options.metrics.edgeFollowed.set(this.#followed.size)
  }

  /** What is known here of a listener that is followed and was read. */
  known(metaid: string): StoredListener | undefined {
    return this.#followed.get(metaid)?.stored ?? undefined
  }

  /** The records for a new socket, `next` before `now`; none before the stream starts. */
  snapshot(metaid: string, selection: Selection): Uint8Array[] {
    const followed = this.#followed.get(metaid)
    if (followed === undefined) return []
    const { now, next } = this.#view(followed)
    return [selection === 'now' ? null : next, selection === 'next' ? null : now].filter(r => r !== null)
  }

  /** The records of a channel's change, after its own sockets got them: listeners come in slices, in order. */
  channelChanged(channelkey: string, frames: readonly Frame[]): void {
    if (frames.length === 0) return
    for (const followed of this.#byChannel.get(channelkey) ?? []) {
      followed.pending.push(...frames)
      this.#behind.add(followed)
    }
    if (this.#behind.size > 0) this.#slice ??= setImmediate(() => this.#runSlice())
  }

  #runSlice(): void {
    const endMs = performance.now() + sliceMs
    for (const followed of this.#behind) {
      this.#flush(followed)
      if (performance.now() > endMs) break
    }
    this.#slice = this.#behind.size > 0 ? setImmediate(() => this.#runSlice()) : undefined
  }

  /** Sends what is pending; must come before anything else is sent. */
  #flush(followed: Followed): void {
    this.#behind.delete(followed)
    for (const { type, bytes } of followed.pending.splice(0)) {
      if (type === 'now' && followed.overlay !== null) continue
      this.#options.deliver(followed.metaid, type, personal(bytes, followed.stamp))
    }
  }

  #follow(metaid: string): Followed {
    const followed: Followed = {
      metaid,
      sockets: 0,
      stored: null,
      channelkey: null,
      stamp: null,
      overlay: null,
      overlayEnd: undefined,
      pending: [],
      unfollow: this.#options.listeners.follow(metaid, stored => this.#update(followed, stored)),
    }
    return followed
  }

  #update(followed: Followed, stored: StoredListener): void {
    this.#flush(followed)
    const before = sightOf(followed)
    const { listener } = stored
    followed.stored = stored
    followed.stamp = listener && stampOf(listener.session)
    this.#moveTo(followed, listener?.session.channelkey ?? null)
    this.#setOverlay(followed)
    this.#send(followed, difference(before, sightOf(followed)))
    this.renewIfOld(followed.metaid, stored)
  }

  /** Notes what covers the channel now, and when that ends. */
  #setOverlay(followed: Followed): void {
    const nowMs = this.#options.clock()
    clearTimeout(followed.overlayEnd)
    followed.overlay = visibleOverlay(followed.stored?.listener ?? null, nowMs)
    const untilMs = followed.overlay?.untilMs ?? null
    if (untilMs === null) return
    const waitMs = Math.min(untilMs - nowMs, maxTimerMs)
    followed.overlayEnd = setTimeout(() => this.#overlayMayEnd(followed), waitMs).unref()
  }

  #overlayMayEnd(followed: Followed): void {
    this.#flush(followed)
    const before = sightOf(followed)
    this.#setOverlay(followed)
    this.#send(followed, difference(before, sightOf(followed)))
  }

  #send(followed: Followed, what: ReturnType<typeof difference>): void {
    if (what === 'nothing') return
    const { now, next } = this.#view(followed)
    const { deliver } = this.#options
    if (what === 'all' && next !== null) deliver(followed.metaid, 'next', next)
    if (now !== null) deliver(followed.metaid, 'now', now)
  }

  #view({ stored }: Followed) {
    const listener = stored?.listener ?? null
    const channel = listener === null ? undefined : this.#options.states.channel(listener.session.channelkey)
    return viewOf(listener, channel, this.#options.clock())
  }

  #moveTo(followed: Followed, channelkey: string | null): void {
    if (channelkey === followed.channelkey) return
    const old = this.#byChannel.get(followed.channelkey ?? '')
    old?.delete(followed)
    if (old?.size === 0) this.#byChannel.delete(followed.channelkey ?? '')
    followed.channelkey = channelkey
    if (channelkey === null) return
    const others = this.#byChannel.get(channelkey) ?? new Set()
    this.#byChannel.set(channelkey, others.add(followed))
  }

  /** An open socket is a sign of life. */
  #renewAll(): void {
    let renewals = 0
    for (const { metaid, stored } of this.#followed.values()) {
      if (stored !== null && this.renewIfOld(metaid, stored) && ++renewals === maxRenewals) return
    }
  }

  /** Lets a session live on whose last sign of life is long ago; in vain it is tried again at the next occasion. */
  renewIfOld(metaid: string, stored: StoredListener): boolean {
    const { listeners, log, clock } = this.#options
    if (stored.listener === null || clock() - stored.storedMs < renewAfterMs) return false
    listeners.renew(metaid, stored).catch(error => log.debug({ err: error }, 'a session was not renewed'))
    return true
  }
}

function sightOf({ stored, overlay }: Followed): Sight {
  return stored?.listener ? { session: stored.listener.session, overlay } : null
}
