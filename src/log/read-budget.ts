// How many pages of the history are read from the log at once, so that live delivery does not notice (rule 27).
import type { Gauge } from 'prom-client'

export type ReadLimits = {
  /** Pages that read at once; each reads one thing after the other. */
  reading: number
  /** Pages that wait for one of these to end. */
  waiting: number
}

export const defaultReadLimits: ReadLimits = { reading: 8, waiting: 32 }

/** Too many pages wait already: try again later. */
export class TooManyReads extends Error {
  override name = 'TooManyReads'
}

export class ReadBudget {
  readonly #limits: ReadLimits
  readonly #gauge: Gauge
  #reading = 0
  readonly #waiting: Array<() => void> = []

  /** gauge: shows how many read. */
  constructor(limits: ReadLimits, gauge: Gauge) {
    this.#limits = limits
    this.#gauge = gauge
  }

  /**
   * Does a piece of work that is to call the given function before each read: the first call takes a place, which the
   * work keeps to its end. What needs no read needs no place. Throws TooManyReads from within that call.
   */
  async run<T>(work: (beforeRead: () => Promise<void>) => Promise<T>): Promise<T> {
    let place: Promise<void> | undefined
    try {
      return await work(() => {
        place ??= this.#enter()
        return place
      })
    } finally {
      if (place !== undefined && (await isResolved(place))) this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#reading >= this.#limits.reading) {
      if (this.#waiting.length >= this.#limits.waiting) throw new TooManyReads('too many reads of the log')
      // The one that leaves hands its place on.
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    } else {
      this.#reading++
      this.#gauge.inc()
    }
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#reading--
      this.#gauge.dec()
    } else next()
  }
}

function isResolved(promise: Promise<void>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}
