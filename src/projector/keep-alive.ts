// A channel that is silent for longer than half the retention is written again, so that its state outlives the log.
import { restated } from '../domain/restate.ts'
import { readFolded, UnknownVersion } from '../domain/value.ts'
import type { ChannelBucket } from '../log/channel-bucket.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Fold } from './fold.ts'
import type { Timers } from './ticks.ts'
import { valueOfChange } from './values.ts'

export type KeepAliveParts = {
  incarnation: string
  bucket: ChannelBucket
  timers: Timers
  log: Logger
  metrics: Metrics
  /** How long the bucket keeps a value, milliseconds; 0: for ever, and nothing need be written again. */
  retentionMs: number
  /** The log's clock, unix milliseconds. */
  nowMs(): number
  /** The live fold; undefined while there is none. */
  fold(): Fold | undefined
}

const longestCheckMs = 3_600_000
/** Between two of them: whoever watches the bucket, and its disk, shall not notice. */
const pauseMs = 50

export class KeepAlive {
  readonly #parts: KeepAliveParts
  #timer: unknown
  #stopped = false

  constructor(parts: KeepAliveParts) {
    this.#parts = parts
  }

  /** Looks at once, and again and again: every hour, or after a quarter of a retention shorter than that. */
  start(): void {
    const { retentionMs } = this.#parts
    if (retentionMs === 0 || this.#stopped) return
    this.#check()
      .catch(error => this.#parts.log.warn({ error: String(error) }, 'silent channels are looked for again'))
      .finally(() => {
        if (this.#stopped) return
        this.#timer = this.#parts.timers.set(() => this.start(), Math.min(longestCheckMs, retentionMs / 4))
      })
  }

  stop(): void {
    this.#stopped = true
    this.#parts.timers.clear(this.#timer)
  }

  async #check(): Promise<void> {
    const { bucket, retentionMs } = this.#parts
    const fold = this.#parts.fold()
    if (fold === undefined) return
    const recent = await bucket.firstSequenceSince(this.#parts.nowMs() - retentionMs / 2)
    for (const channelkey of fold.states.keys()) {
      const sequence = fold.states.sequence(channelkey)
      if (sequence === 0 || sequence >= recent) continue
      await this.#pause()
      if (this.#stopped || fold !== this.#parts.fold()) return
      await this.#writeAgain(fold, channelkey, sequence)
    }
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      this.#parts.timers.set(() => resolve(), pauseMs)
    })
  }

  async #writeAgain(fold: Fold, channelkey: string, prev: number): Promise<void> {
    const { bucket, incarnation, metrics } = this.#parts
    const value = await bucket.read(channelkey, prev)
    if (value === undefined || value.json === null) return
    const folded = this.#read(channelkey, value.json)
    // It has spoken meanwhile, or this fold is over.
    if (folded === null || fold !== this.#parts.fold() || fold.states.sequence(channelkey) !== prev) return
    const { state, event, done } = folded
    const sequence = fold.writer.lastSequence + 1
    const place = { event, done, prev }
    fold.writer.send(event, [valueOfChange(channelkey, restated(state), place, incarnation, sequence)])
    fold.states.set(channelkey, { state, sequence })
    metrics.projectorRewritten.inc({ reason: 'silent' })
  }

  /** One of a later release can't be written again by this one. */
  #read(channelkey: string, json: string): ReturnType<typeof readFolded> | null {
    try {
      return readFolded(json)
    } catch (error) {
      const level = error instanceof UnknownVersion ? 'debug' : 'warn'
      this.#parts.log[level]({ channelkey, error: String(error) }, 'a silent channel is not written again')
      return null
    }
  }
}
