// Time passes through the log too: when something of a channel is due, a tick is appended to EVENTS, and the
// reducer does what is due at the tick's time. A tick late, doubled or stale does no harm.

import { type Due, DueHeap } from './due-heap.ts'
import type { LogClock } from './log-clock.ts'

/** The timers of the platform, or a test's. */
export type Timers = {
  set(callback: () => void, delayMs: number): unknown
  clear(timer: unknown): void
}

export const realTimers: Timers = {
  set: (callback, delayMs) => setTimeout(callback, delayMs),
  clear: timer => clearTimeout(timer as NodeJS.Timeout),
}

/** Appends a tick. Its message id is the same for the same due thing, so that two projectors' ticks are one. */
export type SendTick = (channelkey: string, messageId: string) => Promise<void>

type Armed = Due & {
  /** What the state says; dueMs is when to look after it next. */
  stateDueMs: number
  /** How many ticks for it were sent already. */
  sent: number
  /** It fell due long ago and was given its turn. */
  waited?: true
}

/** A tick a moment too early would have to be sent again. */
const marginMs = 2
/** A tick that changed nothing is sent again after this: it may have been lost, or taken for a double. */
const resendMs = 1_000
const maxSending = 64
/** What fell due longer ago than this is settled one after the other, a hundred a second. */
const longAgoMs = 60_000
const slotMs = 10
/** setTimeout can't wait longer than 24 days; looking earlier costs nothing. */
const longestMs = 3_600_000

export class Ticks {
  readonly #clock: LogClock
  readonly #timers: Timers
  readonly #send: SendTick
  readonly #heap = new DueHeap<Armed>()
  #timer: unknown
  #timerMs = Number.POSITIVE_INFINITY
  #running = false
  #stands = false
  #sending = 0
  #lastSlotMs = Number.NEGATIVE_INFINITY

  constructor(clock: LogClock, timers: Timers, send: SendTick) {
    this.#clock = clock
    this.#timers = timers
    this.#send = send
  }

  /** Until then nothing is sent: what is due may lie in events not folded yet. */
  start(): void {
    this.#running = true
    this.#schedule()
  }

  /**
   * Whether time stands: while events of the past are imported nothing is due, whatever the clock says, since the
   * next one may settle it.
   */
  stand(stands: boolean): void {
    if (stands === this.#stands) return
    this.#stands = stands
    this.#schedule()
  }

  stop(): void {
    this.#running = false
    this.#timers.clear(this.#timer)
    this.#timerMs = Number.POSITIVE_INFINITY
  }

  /**
   * The channel's state has changed: dueMs is when something is due, or null. tickMs: the time of the event that
   * changed it if that was a tick; if the same thing is still due then, the tick was early by the difference.
   */
  arm(channelkey: string, dueMs: number | null, tickMs?: number): void {
    if (dueMs === null) {
      this.#heap.delete(channelkey)
      return
    }
    const armed = this.#heap.get(channelkey)
    const isSame = armed?.stateDueMs === dueMs
    if (isSame && (armed.sent === 0 || tickMs === undefined)) return
    const isEarly = isSame && tickMs !== undefined && tickMs < dueMs
    this.#heap.set({
      channelkey,
      stateDueMs: dueMs,
      sent: isSame ? armed.sent : 0,
      dueMs: (isEarly ? this.#clock.nowMs() + dueMs - tickMs : dueMs) + marginMs,
    })
    this.#schedule()
  }

  #schedule(): void {
    const first = this.#heap.peek()
    if (!this.#running || this.#stands || first === undefined || this.#sending >= maxSending) return
    if (this.#timerMs <= first.dueMs) return
    this.#timers.clear(this.#timer)
    this.#timerMs = first.dueMs
    const delayMs = Math.ceil(first.dueMs - this.#clock.nowMs())
    this.#timer = this.#timers.set(() => this.#fire(), Math.min(Math.max(delayMs, 0), longestMs))
  }

  #fire(): void {
    this.#timerMs = Number.POSITIVE_INFINITY
    const nowMs = this.#clock.nowMs()
    for (let due = this.#heap.peek(); due !== undefined && due.dueMs <= nowMs; due = this.#heap.peek()) {
      if (this.#stands || this.#sending >= maxSending) return
      if (this.#isToWait(due, nowMs)) continue
      this.#heap.set({ ...due, dueMs: nowMs + resendMs, sent: due.sent + 1 })
      void this.#sendOne(due)
    }
    this.#schedule()
  }

  /** What fell due long ago, in an outage or before an import, need not all be settled at once: each gets its turn. */
  #isToWait(due: Armed, nowMs: number): boolean {
    if (due.sent > 0 || due.waited || due.stateDueMs > nowMs - longAgoMs) return false
    this.#lastSlotMs = Math.max(nowMs, this.#lastSlotMs + slotMs)
    this.#heap.set({ ...due, dueMs: this.#lastSlotMs + 1, waited: true })
    return true
  }

  async #sendOne({ channelkey, stateDueMs, sent }: Armed): Promise<void> {
    this.#sending++
    await this.#send(channelkey, `~tick.${channelkey}.${stateDueMs}.${sent}`)
    this.#sending--
    this.#schedule()
  }
}
