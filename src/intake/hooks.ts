// Icecast's hooks after their answer (rule 28): each is stored in the background, in order for each listener, for as
// long as the log may take to come back. Metadata must not stop audio, so nothing here ever reaches the one who asked.
import { setTimeout as wait } from 'node:timers/promises'
import type { Hook } from '../domain/icecast-hook.ts'
import { isKey } from '../domain/keys.ts'
import { begin, end, type Listener } from '../domain/listener.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { Listeners } from '../log/listeners.ts'
import type { Registry } from '../log/registry.ts'
import type { Tokens } from '../log/tokens.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { AppendQueue, type Place } from './append-queue.ts'

export type HookParts = {
  registry: Pick<Registry, 'channel' | 'findChannel'>
  tokens: Pick<Tokens, 'matchesHere' | 'matches'>
  listeners: Pick<Listeners, 'change'>
  metrics: Metrics
  log: Logger
  /** Hooks that wait to be stored. */
  maxWaiting?: number
  /** From arrival until a hook is given up. */
  deadlineMs?: number
}

export type Standing = 'right' | 'wrong token' | 'unknown channel'

export const defaultMaxHooks = 10_000
const defaultDeadlineMs = 60_000
const retryMs = 500
/** Few are stored at once, so that storing never makes an answer wait. */
const maxInFlight = 8

export class Hooks {
  readonly #parts: HookParts
  readonly #queue: AppendQueue
  readonly #running = new Set<Promise<void>>()

  constructor(parts: HookParts) {
    this.#parts = parts
    const { metrics, maxWaiting = defaultMaxHooks, deadlineMs = defaultDeadlineMs } = parts
    const counted = { intakeWaiting: metrics.intakeWaitingHooks, intakeRejected: metrics.intakeRejected }
    this.#queue = new AppendQueue({ metrics: counted, maxWaiting, maxInFlight, deadlineMs })
  }

  /** How a request stands by what is known here and now: no answer waits for the log. */
  standing(channelkey: string, token: string): Standing {
    const { registry, tokens } = this.#parts
    if (!isKey(channelkey) || registry.channel(channelkey) === undefined) return 'unknown channel'
    return tokens.matchesHere(channelkey, token) ? 'right' : 'wrong token'
  }

  /** Takes a hook, or drops it where too many wait; never throws. */
  take(channelkey: string, token: string, hook: Hook, isRight: boolean): void {
    const { metrics } = this.#parts
    if (!isKey(channelkey)) {
      metrics.intakeHooks.inc({ result: 'dropped' })
      return
    }
    const place = this.#enter(hook.metaid, isRight)
    if (place === undefined) return
    const work = this.#store(channelkey, token, hook, isRight, place).finally(() => {
      place.leave()
      this.#running.delete(work)
    })
    this.#running.add(work)
  }

  /** Resolves when everything that was taken is stored or given up. */
  async idle(): Promise<void> {
    await Promise.all(this.#running)
  }

  #enter(metaid: string, isRight: boolean): Place | undefined {
    try {
      return this.#queue.enter(metaid, isRight)
    } catch (error) {
      // The queue has counted it at its limit; here it is a hook that was lost.
      this.#parts.metrics.intakeHooks.inc({ result: 'dropped' })
      this.#parts.log.debug({ err: error }, 'a hook was dropped')
      return undefined
    }
  }

  async #store(channelkey: string, token: string, hook: Hook, isRight: boolean, place: Place): Promise<void> {
    const { metrics, log, listeners } = this.#parts
    try {
      if (!isRight && !(await this.#persist(place, () => this.#isRightAfterAll(channelkey, token)))) {
        metrics.intakeHooks.inc({ result: 'refused' })
        return
      }
      await place.turn()
      const step = stepOf(channelkey, hook)
      // Most of those who come were not here before.
      const guess = hook.action === 'add' ? 'nothing' : undefined
      await this.#persist(place, () => listeners.change(hook.metaid, step, guess))
      metrics.intakeHooks.inc({ result: 'stored' })
    } catch (error) {
      metrics.intakeHooks.inc({ result: 'lost' })
      if (!(error instanceof LogUnavailable)) log.error({ err: error }, 'a hook was not stored')
    }
  }

  /** Looked up, since what was just made may not be seen here yet. */
  async #isRightAfterAll(channelkey: string, token: string): Promise<boolean> {
    const { registry, tokens } = this.#parts
    return (await registry.findChannel(channelkey)) !== undefined && (await tokens.matches(channelkey, token))
  }

  /** Again and again until the log answers or the time is over. */
  async #persist<T>(place: Place, attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await place.inTime(attempt())
      } catch (error) {
        if (!(error instanceof LogUnavailable) || place.leftMs() === 0) throw error
        await wait(retryMs, undefined, { ref: false })
      }
    }
  }
}

function stepOf(
  channelkey: string,
  { action, client, mount }: Hook,
): (before: Listener | null) => Listener | null {
  if (action === 'remove') return before => end(before, channelkey, client)
  const name = client ?? ''
  return before => begin(before, { channelkey, client: name, session: name, mount })
}
