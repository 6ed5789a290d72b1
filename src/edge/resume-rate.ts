// A client that resumes in a tight loop is slowed (rule 25): one that asks for the same again and again, from the same
// address, and each time is gone at once. Many behind one address may do so together: the more of them that resumed
// are here, the more is allowed. And only leaving is counted, so that those who were cut off at once may all come back
// at once.
import type { Asked } from './resume.ts'

/** Short visits that may come at once, and how many more a second for each client of the address that resumed and is here. */
export const resumeRate = { burst: 100, perSecond: 2 } as const
/** A visit is short below this. */
export const shortVisitMs = 5_000
const maxLoops = 10_000

/** Who resumes what. */
export type Resumer = { readonly address: string; readonly what: string }

/** A client that has been here before. */
export type Comeback = {
  /** Where it goes on. */
  readonly asked: Asked
  readonly resumer: Resumer
  readonly openedMs: number
}

type Loop = { tokens: number; atMs: number }

export class ResumeRate {
  readonly #nowMs: () => number
  /** How many clients of an address that resumed are here. */
  readonly #here = new Map<string, number>()
  /** Short visits, in the order of the last one. */
  readonly #loops = new Map<string, Loop>()

  /** nowMs: a clock that never goes back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Whether this client may resume now. */
  allows(resumer: Resumer): boolean {
    const loop = this.#loops.get(nameOf(resumer))
    return loop === undefined || this.#refilled(loop, resumer.address) >= 1
  }

  /** A client that resumes is here. */
  enter(address: string): void {
    this.#here.set(address, (this.#here.get(address) ?? 0) + 1)
  }

  /** It is gone. */
  leave(address: string): void {
    const here = (this.#here.get(address) ?? 0) - 1
    if (here > 0) this.#here.set(address, here)
    else this.#here.delete(address)
  }

  /** A client that had resumed goes by itself, after so many milliseconds; told before it leaves. */
  visited(resumer: Resumer, visitMs: number): void {
    if (visitMs >= shortVisitMs) return
    const name = nameOf(resumer)
    const loop = this.#loops.get(name)
    const tokens = loop === undefined ? resumeRate.burst : this.#refilled(loop, resumer.address)
    this.#loops.delete(name)
    this.#loops.set(name, { tokens: Math.max(0, tokens - 1), atMs: this.#nowMs() })
    const [oldest] = this.#loops.keys()
    if (this.#loops.size > maxLoops && oldest !== undefined) this.#loops.delete(oldest)
  }

  #refilled({ tokens, atMs }: Loop, address: string): number {
    const perSecond = resumeRate.perSecond * Math.max(1, this.#here.get(address) ?? 0)
    return Math.min(resumeRate.burst, tokens + ((this.#nowMs() - atMs) / 1_000) * perSecond)
  }
}

function nameOf({ address, what }: Resumer): string {
  return `${address} ${what}`
}
