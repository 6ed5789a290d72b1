// What runs in this process, in the order in which it was started.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from './observe/log.ts'
import type { Service } from './observe/service.ts'

/** Something with a life that is no Service: a connection, the embedded nats-server. */
export type Part = Pick<Service, 'id' | 'start' | 'stop'> & Partial<Pick<Service, 'unready' | 'drain'>>

/** Starts one after the other, and stops in reverse: whatever happens, nothing stays half-started. */
export class Stack {
  readonly #log: Logger
  readonly #parts: Part[] = []
  #state: 'starting' | 'serving' | 'draining' = 'starting'
  #stopped: Promise<void> | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  /** Starts one more. Throws what it throws, and Interrupted once shutdown has begun. */
  async start(part: Part): Promise<void> {
    if (this.stopping) throw new Interrupted()
    this.#parts.push(part)
    await part.start()
    if (this.stopping) throw new Interrupted()
  }

  /** Everything is started. */
  serving(): void {
    this.#state = 'serving'
  }

  /** It drains or stops, or has done so. */
  get stopping(): boolean {
    return this.#state === 'draining'
  }

  /** Why this process cannot serve, each with the part it concerns; empty when it can. */
  reasons(): string[] {
    if (this.#state !== 'serving') return [this.#state]
    return this.#parts.flatMap(part => {
      const reason = part.unready?.() ?? null
      return reason === null ? [] : [`${part.id}: ${reason}`]
    })
  }

  /**
   * Says that it is not ready, and after `leaveMs` milliseconds, by which load balancers have noticed, drains: first what
   * faces users and then what they were waiting for. Then it stops everything.
   */
  async shutdown(leaveMs = 0): Promise<void> {
    if (this.#state === 'serving') {
      this.#state = 'draining'
      await sleep(leaveMs)
      const [projector, others] = partition(this.#parts, part => part.id === 'projector')
      await this.#each(others, 'drain')
      await this.#each(projector, 'drain')
    }
    await this.stop()
  }

  /** Stops everything, the last started first; one that fails does not keep the others. */
  stop(): Promise<void> {
    this.#state = 'draining'
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll(): Promise<void> {
    for (const part of this.#parts.toReversed()) await this.#each([part], 'stop')
  }

  async #each(parts: Part[], what: 'drain' | 'stop'): Promise<void> {
    const work = parts.map(async part => {
      try {
        await part[what]?.()
      } catch (error) {
        this.#log.error({ part: part.id, err: error }, `${what} failed`)
      }
    })
    await Promise.all(work)
  }
}

/** The start was cut short by a shutdown; nothing to report. */
export class Interrupted extends Error {
  override name = 'Interrupted'
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter(item => !test(item))]
}
