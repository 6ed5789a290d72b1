// Many fenced appends on their way at once, and what of them is done.
import type { ChannelBucket, ValueToWrite } from '../log/channel-bucket.ts'

export type WriterHandlers = {
  /** Values were acknowledged. */
  progress(values: number): void
  /** An append was refused or not answered in time: nothing of this writer counts any more. Once. */
  failed(error: unknown): void
}

/** How many appends may be on their way. */
export const writeWindow = 256

type InFlight = { event: number; acked: boolean }
type Waiting = { isDone: () => boolean; resolve: () => void }

/** One life of the fence: from loading the bucket until the first failure. */
export class ValueWriter {
  readonly #bucket: ChannelBucket
  readonly #handlers: WriterHandlers
  readonly #inFlight: InFlight[] = []
  #lastSequence: number
  #ackedSequence: number
  #closed = false
  #waiting: Waiting[] = []

  constructor(bucket: ChannelBucket, lastSequence: number, handlers: WriterHandlers) {
    this.#bucket = bucket
    this.#lastSequence = lastSequence
    this.#ackedSequence = lastSequence
    this.#handlers = handlers
  }

  /** The sequence of the last value sent. */
  get lastSequence(): number {
    return this.#lastSequence
  }

  /** Up to here everything is ours, or was loaded. */
  get ackedSequence(): number {
    return this.#ackedSequence
  }

  get hasRoom(): boolean {
    return this.#inFlight.length < writeWindow
  }

  /** The oldest event of which a value is not acknowledged yet; undefined if there is none. */
  get oldestEvent(): number | undefined {
    return this.#inFlight[0]?.event
  }

  /** Resolves when at least half of the window is free, or after a failure. */
  room(): Promise<void> {
    return this.#until(() => this.#inFlight.length <= writeWindow / 2)
  }

  /** Resolves when all that was sent so far is acknowledged, or after a failure. */
  written(): Promise<void> {
    const sequence = this.#lastSequence
    return this.#until(() => this.#ackedSequence >= sequence)
  }

  #until(isDone: () => boolean): Promise<void> {
    if (this.#closed || isDone()) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push({ isDone, resolve }))
  }

  send(event: number, values: ValueToWrite[]): void {
    for (const value of values) {
      const entry = { event, acked: false }
      this.#inFlight.push(entry)
      this.#bucket.append(value, this.#lastSequence++).then(
        () => this.#acked(entry),
        error => this.#failed(error),
      )
    }
  }

  /** Forgets what is on its way. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  #acked(entry: InFlight): void {
    if (this.#closed) return
    entry.acked = true
    const open = this.#inFlight.findIndex(({ acked }) => !acked)
    const done = this.#inFlight.splice(0, open < 0 ? this.#inFlight.length : open)
    if (done.length === 0) return
    this.#ackedSequence += done.length
    this.#handlers.progress(done.length)
    this.#wake()
  }

  #failed(error: unknown): void {
    if (this.#closed) return
    this.close()
    this.#handlers.failed(error)
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ isDone }) => !this.#closed && !isDone())
    for (const one of waiting) if (!this.#waiting.includes(one)) one.resolve()
  }
}
