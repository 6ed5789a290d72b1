// The order of pushes (rule 11): those of one channel are appended in the order in which they arrived, one in
// flight at a time. A place is taken at arrival, before anything is looked up, so that a look-up that takes longer
// never lets a later push overtake.
import { Problem } from '../api/errors.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { Metrics } from '../observe/metrics.ts'

export type QueueOptions = {
  metrics: Pick<Metrics, 'intakeWaiting' | 'intakeRejected'>
  /** From arrival to the end of everything; the answer must be out within 9 s (rule 1). */
  deadlineMs?: number
  /** Appends in flight, all channels together. */
  maxInFlight?: number
  /** Pushes that hold a place, all channels together. */
  maxWaiting?: number
  /** Of those, pushes whose channel or token is not known here. */
  maxDoubtful?: number
}

const defaultDeadlineMs = 8_500
const defaultMaxInFlight = 64
const defaultMaxWaiting = 4_096
/** What is not known here may be new, or a flood of wrong tokens: that must not take the places of those who push. */
export const defaultMaxDoubtful = 256
/** Empty lanes that are kept beside twice as many as are in use. */
export const spareLanes = 1_024
/** An append that could hardly be acknowledged in what is left is not begun: its sender will hear that it failed. */
const minAppendMs = 250

/** A push's place in the line of its channel. */
export type Place = {
  /** What is left until the deadline; at least 0. */
  leftMs(): number
  /** The same as `work`, but rejects with LogUnavailable once the deadline is over. */
  inTime<T>(work: Promise<T>): Promise<T>
  /** Resolves when every earlier push of the channel is done and an append may start. Throws LogUnavailable at the deadline. */
  turn(): Promise<void>
  /** Must be called once, whatever happened: the next in line goes on. */
  leave(): void
}

type Waiting = { lane: Waiting[]; grant?: () => void; granted: boolean; left: boolean }

export class AppendQueue {
  readonly #options: Required<QueueOptions>
  /** By channelkey. An empty one stays for the next push of its channel, until there are too many. */
  #lanes = new Map<string, Waiting[]>()
  /** First in their lane and ready to append; they wait for one of the appends in flight to end. */
  readonly #ready: Waiting[] = []
  #inFlight = 0
  #held = 0
  #doubtful = 0

  constructor(options: QueueOptions) {
    this.#options = {
      deadlineMs: defaultDeadlineMs,
      maxInFlight: defaultMaxInFlight,
      maxWaiting: defaultMaxWaiting,
      maxDoubtful: defaultMaxDoubtful,
      ...options,
    }
  }

  /** Channels of which a line is kept. */
  get lanes(): number {
    return this.#lanes.size
  }

  /**
   * Takes the next place in the channel's line. `isKnown`: channel and token are right by what is known here. Throws
   * `busy` at once when too many hold one.
   */
  enter(channelkey: string, isKnown = true): Place {
    const { metrics, deadlineMs } = this.#options
    this.#requireRoom(isKnown)
    if (!isKnown) this.#doubtful++
    metrics.intakeWaiting.set(++this.#held)
    const lane = this.#lanes.get(channelkey) ?? []
    this.#lanes.set(channelkey, lane)
    const waiting: Waiting = { lane, granted: false, left: false }
    lane.push(waiting)
    const deadline = new Deadline(deadlineMs)
    return {
      leftMs: () => deadline.leftMs(),
      inTime: work => deadline.race(work),
      turn: async () => {
        await deadline.race(this.#turn(waiting))
        if (deadline.leftMs() < Math.min(minAppendMs, deadlineMs / 4)) throw tooLate()
      },
      leave: () => {
        deadline.clear()
        if (!isKnown) this.#doubtful--
        this.#leave(waiting)
      },
    }
  }

  #requireRoom(isKnown: boolean): void {
    const { metrics, maxWaiting, maxDoubtful } = this.#options
    if (this.#held >= maxWaiting) {
      metrics.intakeRejected.inc({ limit: 'waiting' })
      throw new Problem('busy', 'Too many pushes wait for the log.', { retryAfter: 1 })
    }
    if (!isKnown && this.#doubtful >= maxDoubtful) {
      metrics.intakeRejected.inc({ limit: 'doubtful' })
      const detail = 'Too many requests wait for their channel or token to be looked up.'
      throw new Problem('busy', detail, { retryAfter: 1 })
    }
  }

  #turn(waiting: Waiting): Promise<void> {
    return new Promise(resolve => {
      waiting.grant = resolve
      this.#advance(waiting.lane)
    })
  }

  /** The first of a lane joins those that are ready, once it has asked for its turn. */
  #advance(lane: Waiting[]): void {
    const first = lane[0]
    if (first?.grant === undefined || first.granted) return
    this.#ready.push(first)
    this.#start()
  }

  #start(): void {
    while (this.#inFlight < this.#options.maxInFlight) {
      const next = this.#ready.shift()
      if (next === undefined) return
      if (next.left) continue
      this.#inFlight++
      next.granted = true
      next.grant?.()
    }
  }

  #leave(waiting: Waiting): void {
    waiting.left = true
    waiting.lane.splice(waiting.lane.indexOf(waiting), 1)
    if (waiting.granted) this.#inFlight--
    this.#options.metrics.intakeWaiting.set(--this.#held)
    this.#sweep()
    this.#advance(waiting.lane)
    this.#start()
  }

  /** All the empty ones at once, into a new map: one that is emptied key by key keeps what stood in it alive (ADR 0009). */
  #sweep(): void {
    if (this.#lanes.size <= 2 * this.#held + spareLanes) return
    this.#lanes = new Map([...this.#lanes].filter(([, lane]) => lane.length > 0))
  }
}

function tooLate(): LogUnavailable {
  return new LogUnavailable('the log did not answer in time')
}

/** One moment that several waits of a push must not pass. */
class Deadline {
  readonly #endMs: number
  readonly #timer: NodeJS.Timeout
  #expire: (() => void) | undefined
  #expired = false

  constructor(afterMs: number) {
    this.#endMs = performance.now() + afterMs
    this.#timer = setTimeout(() => {
      this.#expired = true
      this.#expire?.()
    }, afterMs).unref()
  }

  leftMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#expire = () => reject(tooLate())
      if (this.#expired) this.#expire()
      work.then(resolve, reject)
    })
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
