// A client that resumes in a tight loop is slowed (rule 25): one that asks for the same again and again, from the same
// address, and each time is gone at once. Those who come back together after a cut, from behind one proxy even, are
// no loop: they stay.

/** Short visits that one client may have at once, and how many more a second. */
export const resumeRate = { burst: 100, perSecond: 2 } as const
/** A visit is short below this. */
export const shortVisitMs = 5_000
const maxClients = 10_000

type Loop = { tokens: number; atMs: number }

export class ResumeRate {
  readonly #nowMs: () => number
  /** Clients with short visits, in the order of their last one. */
  readonly #loops = new Map<string, Loop>()

  /** nowMs: a clock that never goes back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Whether this client may resume now. `client`: its address and all that it asks for. */
  allows(client: string): boolean {
    const loop = this.#loops.get(client)
    return loop === undefined || this.#refilled(loop) >= 1
  }

  /** A client that had resumed is gone by itself, after so many milliseconds. */
  left(client: string, visitMs: number): void {
    if (visitMs >= shortVisitMs) return
    const loop = this.#loops.get(client)
    const tokens = loop === undefined ? resumeRate.burst : this.#refilled(loop)
    this.#loops.delete(client)
    this.#loops.set(client, { tokens: Math.max(0, tokens - 1), atMs: this.#nowMs() })
    const [oldest] = this.#loops.keys()
    if (this.#loops.size > maxClients && oldest !== undefined) this.#loops.delete(oldest)
  }

  #refilled({ tokens, atMs }: Loop): number {
    return Math.min(resumeRate.burst, tokens + ((this.#nowMs() - atMs) / 1_000) * resumeRate.perSecond)
  }
}
