// The rate limit of a channel (rule 12): a token bucket per channel and intake process.
import type { Metrics } from '../observe/metrics.ts'
import { BoundedMap } from './bounded-map.ts'

type Bucket = { level: number; atMs: number }

/** The burst is three seconds' worth, and never less than one push. */
const burstSeconds = 3
const defaultMaxChannels = 100_000

export type PushRateOptions = {
  /** Pushes a second. */
  rate: number
  metrics: Pick<Metrics, 'intakeForgotten'>
  maxChannels?: number
}

export class PushRate {
  readonly #rate: number
  readonly #burst: number
  readonly #buckets: BoundedMap<string, Bucket>

  constructor({ rate, metrics, maxChannels = defaultMaxChannels }: PushRateOptions) {
    this.#rate = rate
    this.#burst = Math.max(1, burstSeconds * rate)
    // The one pushed longest ago is the one most likely to be full again, and a full one need not be remembered.
    this.#buckets = new BoundedMap(maxChannels, () => metrics.intakeForgotten.inc({ table: 'push-rate' }))
  }

  /** Charges one push. 0: it may pass; else the seconds until one may, at least 1. `nowMs` is a monotonic clock. */
  charge(channelkey: string, nowMs: number): number {
    const { level, atMs } = this.#buckets.get(channelkey) ?? { level: this.#burst, atMs: nowMs }
    const filled = Math.min(this.#burst, level + ((nowMs - atMs) / 1000) * this.#rate)
    const passes = filled >= 1
    this.#buckets.set(channelkey, { level: passes ? filled - 1 : filled, atMs: nowMs })
    return passes ? 0 : Math.max(1, Math.ceil((1 - filled) / this.#rate))
  }
}
