// Who is subscribed to which of the old paths, and what they are sent. The state behind it is an edge's: what is
// shown, whether a key is known, and the live records of single listeners.
import { type ChannelStates, type Frame, snapshot } from '../edge/channel-state.ts'
import type { Directory } from '../edge/directory.ts'
import type { ListenerFeed } from '../edge/listener-feed.ts'
import type { Metrics } from '../observe/metrics.ts'
import { asRefusal, publication, Refusal, revocation } from './messages.ts'
import { pathOf, type Target, targetOf } from './paths.ts'

/** A client, as its subscriptions see it. */
export type Subscriber = {
  /** A live record, as a whole message. */
  publish(path: string, message: Buffer): void
  /** The subscription is ended. */
  revoked(path: string, message: string): void
}

export type SubscriptionsOptions = {
  states: ChannelStates
  directory: Directory
  feed: ListenerFeed
  metrics: Metrics
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #byPath = new Map<string, Set<Subscriber>>()
  #size = 0

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  /** What a path names. Rejects with a Refusal where there is no such path or key, or no room. */
  async check(path: unknown): Promise<Target> {
    if (typeof path !== 'string') throw new Refusal(400, 'Message missing path')
    if (path.includes('?')) throw new Refusal(400, 'Subscription path cannot contain query', path)
    const target = targetOf(path)
    if (target === undefined) throw new Refusal(404, 'Subscription not found', path)
    const { directory, feed } = this.#options
    try {
      await directory.whenKnown(target.scope, target.key, () => undefined)
      if (target.scope === 'listener') feed.requireRoom(target.key)
      return target
    } catch (error) {
      throw asRefusal(error, path)
    }
  }

  /** Subscribes; returns the records to be sent before any live one, `next` before `now` (rule 24). */
  add(subscriber: Subscriber, { path, scope, key }: Target): Uint8Array[] {
    if (scope === 'listener') this.#options.feed.join(key)
    const subscribers = this.#byPath.get(path) ?? new Set()
    this.#byPath.set(path, subscribers.add(subscriber))
    this.#count(1)
    return this.#snapshot(scope, key)
  }

  remove(subscriber: Subscriber, { path, scope, key }: Target): void {
    const subscribers = this.#byPath.get(path)
    if (!subscribers?.delete(subscriber)) return
    if (subscribers.size === 0) this.#byPath.delete(path)
    if (scope === 'listener') this.#options.feed.leave(key)
    this.#count(-1)
  }

  /** A record of a channel: to the subscribers of the channel, and of the station that it names. */
  deliver({ channelkey, stationkey, bytes }: Frame): void {
    this.#publish(pathOf('channel', channelkey), bytes)
    this.#publish(pathOf('station', stationkey), bytes)
  }

  deliverTo(metaid: string, bytes: Uint8Array): void {
    this.#publish(pathOf('listener', metaid), bytes)
  }

  /** The channel was deleted. */
  removeChannel(channelkey: string): void {
    const path = pathOf('channel', channelkey)
    const target = { path, scope: 'channel', key: channelkey } as const
    for (const subscriber of [...(this.#byPath.get(path) ?? [])]) {
      this.remove(subscriber, target)
      subscriber.revoked(path, revocation(path))
    }
  }

  #publish(path: string, bytes: Uint8Array): void {
    const subscribers = this.#byPath.get(path)
    if (subscribers === undefined) return
    const message = publication(path, bytes)
    this.#options.metrics.legacyDeliveries.inc(subscribers.size)
    for (const subscriber of [...subscribers]) subscriber.publish(path, message)
  }

  #snapshot(scope: Target['scope'], key: string): Uint8Array[] {
    const { states, feed } = this.#options
    if (scope === 'listener') return feed.snapshot(key, 'all')
    return snapshot({ scope, key, selection: 'all' }, states)
  }

  #count(difference: number): void {
    this.#size += difference
    this.#options.metrics.legacySubscriptions.set(this.#size)
  }
}
