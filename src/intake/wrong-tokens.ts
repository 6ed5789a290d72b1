// Guessing of tokens is slowed down: ten wrong ones a minute per source address (rule 12). Right ones never count.
import { isIPv6 } from 'node:net'
import type { Metrics } from '../observe/metrics.ts'
import { BoundedMap } from './bounded-map.ts'

const windowMs = 60_000
const maxPerWindow = 10
const defaultMaxSources = 100_000

export type WrongTokensOptions = { metrics: Pick<Metrics, 'intakeForgotten'>; maxSources?: number }

export class WrongTokens {
  /** Times of the last wrong tokens of each source, oldest first. */
  readonly #times: BoundedMap<string, number[]>

  constructor({ metrics, maxSources = defaultMaxSources }: WrongTokensOptions) {
    this.#times = new BoundedMap(maxSources, () => metrics.intakeForgotten.inc({ table: 'wrong-tokens' }))
  }

  /** Notes a wrong token. 0: it counts as one of the ten; else the seconds until the source may err again, at least 1. `nowMs` is a monotonic clock. */
  note(address: string, nowMs: number): number {
    const source = sourceOf(address)
    const times = (this.#times.get(source) ?? []).filter(time => nowMs - time < windowMs)
    const [oldest] = times
    const over = oldest !== undefined && times.length >= maxPerWindow
    this.#times.set(source, over ? times : [...times, nowMs])
    return over ? Math.max(1, Math.ceil((oldest + windowMs - nowMs) / 1000)) : 0
  }
}

/** Whom an address stands for: an IPv4 address (also one mapped into IPv6), or the /64 network of an IPv6 one. */
export function sourceOf(address: string): string {
  const mapped = /^::ffff:(?<ipv4>\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.groups?.['ipv4']
  if (mapped !== undefined) return mapped
  const [plain = ''] = address.split('%', 1)
  if (!isIPv6(plain)) return address
  const [head = '', tail = ''] = plain.split('::', 2)
  const left = head.split(':').filter(group => group !== '')
  const right = tail.split(':').filter(group => group !== '')
  // An IPv4 tail fills two groups; it never reaches into the first four.
  const tailGroups = right.length + (tail.includes('.') ? 1 : 0)
  const gap = plain.includes('::') ? 8 - left.length - tailGroups : 0
  const groups = [...left, ...Array<string>(Math.max(0, gap)).fill('0'), ...right]
  const network = groups.slice(0, 4).map(group => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
