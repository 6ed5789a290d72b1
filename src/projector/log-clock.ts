// The time on the log's clock, between two looks at it.

/** A clock that only runs forward, in milliseconds; `performance.now()` is one. */
export type Monotonic = () => number

export class LogClock {
  readonly #monotonic: Monotonic
  #offsetMs: number

  constructor(monotonic: Monotonic) {
    this.#monotonic = monotonic
    this.#offsetMs = Date.now() - monotonic()
  }

  /** nowMs: what the log's clock says, unix milliseconds. */
  set(nowMs: number): void {
    this.#offsetMs = nowMs - this.#monotonic()
  }

  /** Unix milliseconds. */
  nowMs(): number {
    return this.#monotonic() + this.#offsetMs
  }
}
