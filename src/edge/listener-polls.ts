// Polls of single listeners (spec 4.5). One that a socket here follows is answered from memory; of any other the
// bucket is asked, by key, and what it said is believed for a second.
import { Problem } from '../api/errors.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { Listeners, StoredListener } from '../log/listeners.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { ChannelStates } from './channel-state.ts'
import { type Answer, nothing, personal, represent } from './headers.ts'
import type { ListenerFeed } from './listener-feed.ts'
import { viewOf } from './listener-view.ts'
import { listenerAnswer } from './representation.ts'
import type { PollRoute, Selection } from './route.ts'

export type ListenerPollsOptions = {
  listeners: Pick<Listeners, 'read'>
  feed: ListenerFeed
  states: ChannelStates
  metrics: Metrics
  /** Unix milliseconds; default: this machine's clock. */
  clock?: () => number
}

/** Metaids of which the bucket is asked at once; past it polls get 503. */
export const maxListenerReads = 256
const maxRemembered = 10_000
const believedMs = 1_000

type Remembered = { stored: StoredListener; atMs: number }

export class ListenerPolls {
  readonly #options: Required<ListenerPollsOptions>
  /** In the order in which they were read. */
  readonly #remembered = new Map<string, Remembered>()
  readonly #reading = new Map<string, Promise<StoredListener>>()

  constructor(options: ListenerPollsOptions) {
    this.#options = { clock: Date.now, ...options }
  }

  /** Answers at once where it can. Throws or rejects with a Problem, 503. */
  answer(
    { key, form }: PollRoute,
    selection: Selection,
    ifNoneMatch: string,
    reply: (answer: Answer) => void,
  ): Promise<void> | void {
    const { feed, states, clock } = this.#options
    const answerFrom = (stored: StoredListener) => {
      feed.renewIfOld(key, stored)
      const { listener } = stored
      const channel = listener === null ? undefined : states.channel(listener.session.channelkey)
      const body = listenerAnswer(viewOf(listener, channel, clock()), form, selection)
      reply(body === null ? nothing : represent(body, ifNoneMatch, personal))
    }
    const here = feed.known(key) ?? this.#recent(key)
    if (here !== undefined) return answerFrom(here)
    return this.#read(key).then(answerFrom)
  }

  #recent(metaid: string): StoredListener | undefined {
    const remembered = this.#remembered.get(metaid)
    return remembered !== undefined && remembered.atMs + believedMs > performance.now()
      ? remembered.stored
      : undefined
  }

  /** Those who ask for the same metaid meanwhile wait for the same reading. */
  #read(metaid: string): Promise<StoredListener> {
    const { metrics } = this.#options
    const running = this.#reading.get(metaid)
    if (running !== undefined) return running
    if (this.#reading.size >= maxListenerReads) {
      metrics.edgeRejected.inc({ limit: 'listener-reads' })
      throw new Problem('busy', undefined, { retryAfter: 1 })
    }
    const reading = this.#ask(metaid).finally(() => this.#reading.delete(metaid))
    this.#reading.set(metaid, reading)
    return reading
  }

  /** With the log away, what it said last still serves. */
  async #ask(metaid: string): Promise<StoredListener> {
    try {
      const stored = await this.#options.listeners.read(metaid)
      this.#remember(metaid, stored)
      return stored
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error
      const last = this.#remembered.get(metaid)
      if (last !== undefined) return last.stored
      throw new Problem('unavailable', 'This listener cannot be looked up now.', { retryAfter: 1 })
    }
  }

  #remember(metaid: string, stored: StoredListener): void {
    this.#remembered.delete(metaid)
    this.#remembered.set(metaid, { stored, atMs: performance.now() })
    const [oldest] = this.#remembered.keys()
    if (this.#remembered.size > maxRemembered && oldest !== undefined) this.#remembered.delete(oldest)
  }
}
