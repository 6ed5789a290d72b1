// The plays of one channel, read backwards as far as a page needs them (rule 27).
import { isWanted, type PlayFilter, type PlayRow, PlaysBackwards, withoutExtdata } from '../domain/history.ts'
import type { HistoryValue } from '../domain/value.ts'
import type { ChannelPast } from './channel-past.ts'

/** How many plays players may see of a channel with the option `recent`. */
export const recentPlays = 20

/** A start is looked for this far from its place in the order of the log: clocks differ, and late plays come late. */
const slackSeconds = 3600
/** So many values in a row that started before the asked time (and the slack): nothing newer is behind them. */
const olderInARow = 100
/** Values of a channel's first read, before it is known how far apart they lie; each next one may have four times more. */
const firstRead = 4
/** What is decoded in one go, while live delivery waits; fewer where they lie so far apart that each takes a block of the log. */
const largestRead = 64
const largestSpan = 40_000

export type PlaysRequest = {
  channelkey: string
  /** The channel's value from which to read backwards. */
  head: HistoryValue
  /** The values that are known to lie before the head, without a gap, the newest first. */
  known: readonly HistoryValue[]
  /** false: the head is the newest value of all, so nothing comes after it. */
  hasLater: boolean
  /** Only the newest plays, without extdata. */
  recent: boolean
  filter: PlayFilter
}

export class ChannelPlays {
  readonly #past: ChannelPast
  readonly #request: PlaysRequest
  readonly #rows: PlayRow[] = []
  readonly #plays = new PlaysBackwards()
  /** The value to read next; 0: there is none. */
  #end: number
  #spacing = 1
  #count = firstRead
  #isOpen = false
  /** What was read from the head on, without a gap; undefined where the page began further back. */
  #newest: HistoryValue[] | undefined = []
  #older = 0
  #counted = 0

  constructor(past: ChannelPast, request: PlaysRequest) {
    this.#past = past
    this.#request = request
    this.#end = request.head.sequence
  }

  /** No row that is still to come has a higher sequence; 0: none is to come. */
  get bound(): number {
    return this.#rows[0]?.sequence ?? this.#end
  }

  /** The values that were read from the head on, without a gap, the newest first. */
  get newest(): HistoryValue[] {
    const { head, hasLater } = this.#request
    if (hasLater) return []
    return this.#isOpen ? (this.#newest ?? []) : [head]
  }

  /** The next row, if it is known already. */
  shift(): PlayRow | undefined {
    return this.#rows.shift()
  }

  /** Reads on, for about so many rows. */
  async readOn(wanted: number): Promise<void> {
    if (!this.#isOpen) return this.#open()
    const fitting = Math.max(firstRead, Math.floor(largestSpan / this.#spacing))
    const count = Math.min(this.#count, Math.max(firstRead, wanted), largestRead, fitting)
    this.#count *= 4
    const end = this.#end
    const values = await this.#past.backwards(this.#request.channelkey, end, count, this.#spacing)
    if (values.length === 0) this.#end = 0
    else this.#takeRead(end, values)
  }

  async #open(): Promise<void> {
    this.#isOpen = true
    const { filter, known } = this.#request
    let { head, hasLater } = this.#request
    if (filter.to !== null && startOf(head) > filter.to + slackSeconds) {
      const found = await this.#lastStarted(head, filter.to + slackSeconds)
      if (found === undefined) {
        this.#end = 0
        return
      }
      hasLater = true
      head = found
    }
    if (hasLater) await this.#readLater(head)
    this.#end = head.sequence
    const isAtHead = head === this.#request.head
    if (!isAtHead) this.#newest = undefined
    this.#takeRead(head.sequence, isAtHead ? [head, ...known] : [head])
  }

  /** What came after the head, up to the next play: its start ends the play of the head. */
  async #readLater(head: HistoryValue): Promise<void> {
    const later: HistoryValue[] = []
    for (let count = firstRead; later.length < largestRead * 4; count = largestRead) {
      const from = (later.at(-1) ?? head).sequence + 1
      const values = await this.#past.forwards(this.#request.channelkey, from, count)
      const play = values.findIndex(value => value.play?.kind === 'new')
      later.push(...values.slice(0, play < 0 ? values.length : play + 1))
      if (play >= 0 || values.length < count) break
    }
    for (const value of later.reverse()) this.#plays.take(value)
  }

  /** The last value whose play started at or before a time (unix seconds), by halves; the log's time is the first guess. */
  async #lastStarted(head: HistoryValue, seconds: number): Promise<HistoryValue | undefined> {
    const { channelkey } = this.#request
    let found = await this.#lastUpTo({ timeMs: seconds * 1000 })
    if (found !== undefined && startOf(found) > seconds) found = undefined
    let low = found?.sequence ?? 0
    let high = head.sequence
    const [next] = await this.#past.forwards(channelkey, low + 1, 1)
    if (next !== undefined && next.life === head.life && startOf(next) > seconds) return found
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      const value = await this.#lastUpTo({ sequence: middle })
      if (value !== undefined && startOf(value) > seconds) high = value.sequence
      else {
        found = value ?? found
        low = middle
      }
    }
    return found
  }

  async #lastUpTo(upTo: { sequence: number } | { timeMs: number }): Promise<HistoryValue | undefined> {
    const { channelkey, head } = this.#request
    const value = (await this.#past.last([channelkey], upTo)).get(channelkey)
    return value?.life === head.life ? value : undefined
  }

  /** Takes values from `end` on, which are more than none. */
  #takeRead(end: number, values: readonly HistoryValue[]): void {
    for (const value of values) {
      if (value.life !== this.#request.head.life) this.#end = 0
      if (this.#end === 0) return
      this.#end = value.prev
      this.#take(value)
    }
    this.#spacing = (end - this.#end) / values.length
  }

  #take(value: HistoryValue): void {
    const { filter, recent } = this.#request
    this.#newest?.push(value)
    const row = this.#plays.take(value)
    if (row !== null) {
      if (isWanted(row, filter)) this.#rows.push(recent ? withoutExtdata(row) : row)
      if (row.record.source !== 'fallback') this.#counted++
    }
    this.#older = filter.from !== null && startOf(value) < filter.from - slackSeconds ? this.#older + 1 : 0
    if (this.#older >= olderInARow || (recent && this.#counted >= recentPlays)) this.#end = 0
  }
}

/** Unix seconds; what played nothing yet is older than anything. */
function startOf({ now }: HistoryValue): number {
  return now?.start_timestamp ?? Number.NEGATIVE_INFINITY
}
