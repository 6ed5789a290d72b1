// The stream EVENTS, what was said: append and read.
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { PubHeaders } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import type { LoggedEvent, NowNextEvent } from '../domain/event.ts'
import type { Metrics } from '../observe/metrics.ts'
import { asLogError, failureOf, type LogConnection, LogUnavailable, messageOf } from './connection.ts'
import { leaderHas, readBatch, type Stored } from './direct.ts'
import { streams } from './topology.ts'

export type Appended = { sequence: number; duplicate: boolean }

export type LogExtent = {
  firstSequence: number
  lastSequence: number
  /** The server's clock, unix milliseconds. */
  nowMs: number
}

/** How long one attempt waits for its ack. */
const attemptMs = 1_000
const backoffMs = [50, 100, 200, 400] as const
/** Longer than a leader change takes. A log silent for so long is away: who asks then is told soon. */
const silenceMs = 8_000
const awayDeadlineMs = 1_000
const readBatchEvents = 256
const readBatchBytes = 1024 * 1024
/** A replica that is behind is asked again this often, so long apart. */
const maxReadsInVain = 40
const behindMs = 50
/** Only an import sets it: the event's time in unix milliseconds, never decreasing. */
export const timeHeader = 'Nownext-Time'
/** Which event of which import this is; also on the mark at an import's end. */
export const importHeader = 'Nownext-Import'
/** No channelkey can be this. Its ticks change no channel: they wake a projector, or mark the end of an import. */
export const wakeKey = '~'
const wakeSubject = `event.${wakeKey}.tick`

export class EventLog {
  readonly #connection: LogConnection
  readonly #metrics: Metrics
  #full = false
  /** When the oldest append began since the log's last answer; undefined while every one was answered. */
  #silentSinceMs: number | undefined

  constructor(connection: LogConnection, metrics: Metrics) {
    this.#connection = connection
    this.#metrics = metrics
  }

  /**
   * Appends one event and resolves after JetStream's ack. Sent again under the same message id on a time-out (1 s)
   * or without responders, with back-off, for `deadlineMs` milliseconds in all (design: 9 s), one second where the log
   * has been silent for 8; then, and at once when the log is full, throws LogUnavailable. What can never be stored (too large) throws as it is.
   * Knows nothing of the order of calls: one append in flight per channel is the intake's business.
   */
  async append(
    channelkey: string,
    event: NowNextEvent,
    messageId: string,
    deadlineMs: number,
  ): Promise<Appended> {
    const subject = `event.${channelkey}.${event.kind}`
    const payload = JSON.stringify(event)
    const head = headers()
    head.set(PubHeaders.MsgIdHdr, messageId)
    const endMs = performance.now() + this.#patienceMs(deadlineMs)
    for (let attempt = 0; ; attempt++) {
      const startedMs = performance.now()
      const leftMs = endMs - startedMs
      if (leftMs < 1) throw new LogUnavailable('the log did not answer in time')
      try {
        const timeoutMs = Math.min(attemptMs, leftMs)
        const ack = await this.#connection.publisher.publish({ subject, payload, headers: head, timeoutMs })
        this.#silentSinceMs = undefined
        this.#noteFull(false)
        return { sequence: ack.seq, duplicate: ack.duplicate }
      } catch (error) {
        this.#requireRetry(error)
      }
      this.#metrics.intakeAppendRetries.inc()
      await wait(this.#pauseMs(attempt, performance.now() - startedMs, endMs))
    }
  }

  #patienceMs(deadlineMs: number): number {
    const nowMs = performance.now()
    this.#silentSinceMs ??= nowMs
    return nowMs - this.#silentSinceMs > silenceMs ? Math.min(deadlineMs, awayDeadlineMs) : deadlineMs
  }

  /** Passes where the append may be sent again; throws else. */
  #requireRetry(error: unknown): void {
    const failure = failureOf(error)
    if (failure === 'no answer') return
    this.#silentSinceMs = undefined
    if (failure === 'full') {
      this.#noteFull(true)
      throw new LogUnavailable('the log is full', { cause: error })
    }
    if (failure === 'closed')
      throw new LogUnavailable('the connection to the log is closed', { cause: error })
    throw error
  }

  /** A refusal that came at once is waited for; a time-out has been waited for already. */
  #pauseMs(attempt: number, tookMs: number, endMs: number): number {
    const pauseMs = (backoffMs[Math.min(attempt, backoffMs.length - 1)] ?? 0) - tookMs
    return Math.max(0, Math.min(pauseMs, endMs - performance.now()))
  }

  #noteFull(full: boolean): void {
    if (full === this.#full) return
    this.#full = full
    const { log } = this.#connection
    if (full) log.error('the log EVENTS is full: pushes are refused until there is room')
    else log.info('the log EVENTS takes events again')
  }

  /** What the log holds, and the time on its clock. Throws LogUnavailable. */
  async extent(): Promise<LogExtent> {
    try {
      const { state, ts } = await this.#connection.jsm.streams.info(streams.events)
      return { firstSequence: state.first_seq, lastSequence: state.last_seq, nowMs: Date.parse(ts ?? '') }
    } catch (error) {
      throw asLogError(error)
    }
  }

  /**
   * The events from one sequence to another, both included, in order; those past retention are left out, and so are
   * those of a later release. Holds two batches (256 events, 1 MiB) at a time. Throws LogUnavailable.
   */
  async *read(from: number, to: number): AsyncIterable<LoggedEvent> {
    for await (const raw of this.readRaw(from, to)) {
      const event = decodeEvent(raw)
      if (event instanceof Error)
        this.#connection.log.warn({ sequence: raw.sequence, error: event.message }, 'event left out')
      else yield event
    }
  }

  /**
   * Whether the log ends within an import: the events behind it may lie as far back as that one, so nothing can be
   * said to be due. Ticks that only wake a projector say nothing. Throws LogUnavailable.
   */
  async timeStands(): Promise<boolean> {
    const { firstSequence, lastSequence } = await this.extent()
    for (let end = lastSequence; end >= firstSequence; end -= readBatchEvents) {
      const said: boolean[] = []
      for await (const { clock } of this.readRaw(end - readBatchEvents + 1, end)) {
        if (clock !== null) said.push(clock === 'stands')
      }
      const last = said.at(-1)
      if (last !== undefined) return last
    }
    return false
  }

  /** Like read, undecoded and complete. */
  async *readRaw(from: number, to: number): AsyncIterable<RawEvent> {
    for await (const batch of this.readBatches(from, to)) yield* batch
  }

  /** Like readRaw, a batch at a time; of one channel only, where that is given. The next one is on its way meanwhile. */
  async *readBatches(from: number, to: number, channelkey?: string): AsyncIterable<RawEvent[]> {
    const only = channelkey === undefined ? {} : { next_by_subj: `event.${channelkey}.*` }
    const read = (next: number): Promise<Stored[]> | undefined => {
      if (next > to) return undefined
      const batch = Math.min(readBatchEvents, to - next + 1)
      const messages = readBatch(this.#connection, streams.events, {
        seq: next,
        batch,
        max_bytes: readBatchBytes,
        ...only,
      })
      // Whoever stops reading must not be ended by an error of what is not wanted any more.
      messages.catch(() => undefined)
      return messages
    }
    let next = Math.max(1, from)
    let inVain = 0
    for (let reading = read(next); reading !== undefined; ) {
      const messages = await reading
      const last = messages.at(-1)
      if (last === undefined) {
        if (!(await this.#isThere(next, to, only))) return
        if (++inVain > maxReadsInVain) throw new LogUnavailable('a replica of EVENTS is behind')
        await wait(behindMs)
        reading = read(next)
        continue
      }
      inVain = 0
      next = last.sequence + 1
      reading = read(next)
      yield messages.filter(({ sequence }) => sequence <= to).map(rawOf)
    }
  }

  /** Whether the leader holds an event of this span: the replica that answered with none may be behind. */
  async #isThere(from: number, to: number, only: { next_by_subj?: string }): Promise<boolean> {
    try {
      const query = { next_by_subj: 'event.>', ...only, seq: from }
      const first = await leaderHas(this.#connection, streams.events, query)
      return first !== undefined && first <= to
    } catch (error) {
      throw asLogError(error)
    }
  }

  /** Sequence of the first event of this time (unix milliseconds) or later; behind the last one where there is none. Throws LogUnavailable. */
  async sequenceAt(timeMs: number): Promise<number> {
    const { firstSequence, lastSequence } = await this.extent()
    let low = firstSequence
    let high = lastSequence + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const [event] = await readBatch(this.#connection, streams.events, { seq: middle, batch: 1 })
      if (event !== undefined && rawOf(event).timeMs < timeMs) low = Math.max(middle, event.sequence) + 1
      else high = middle
    }
    return low
  }
}

/** An event as stored, not yet decoded. */
export type RawEvent = {
  subject: string
  /** Sequence in EVENTS. */
  sequence: number
  /** The event's time, unix milliseconds. */
  timeMs: number
  /** When the log stored it, unix milliseconds; later than the event's time where an import brought it. */
  storedMs: number
  /** Whether the log's clock runs with this event. It stands while an import goes on; null: the event does not say. */
  clock: 'runs' | 'stands' | null
  data: Uint8Array
}

type Headers = { get(name: string): string; has(name: string): boolean }

/** An event as JetStream hands it over, whichever way it came. */
export function rawEventOf(message: {
  subject: string
  sequence: number
  storedMs: number
  headers: Headers | undefined
  data: Uint8Array
}): RawEvent {
  const { subject, sequence, storedMs, headers, data } = message
  const timeMs = eventTimeMs(headers, storedMs)
  return { subject, sequence, timeMs, storedMs, clock: clockOf(subject, headers), data }
}

function rawOf({ subject, sequence, timeMs: storedMs, headers, data }: Stored): RawEvent {
  return rawEventOf({ subject, sequence, storedMs, headers, data })
}

function clockOf(subject: string, headers: Headers | undefined): RawEvent['clock'] {
  if (headers?.has(timeHeader)) return 'stands'
  return subject === wakeSubject && !headers?.has(importHeader) ? null : 'runs'
}

/** The event's time: what an import says, else when the log stored it. Unix milliseconds. */
export function eventTimeMs(headers: { get(name: string): string } | undefined, storedMs: number): number {
  const imported = Number(headers?.get(timeHeader) || Number.NaN)
  return Number.isFinite(imported) ? imported : storedMs
}

/** The channel of an event, readable or not. */
export function channelkeyOf({ subject }: Pick<RawEvent, 'subject'>): string {
  return subject.split('.', 2)[1] ?? ''
}

/** The event, or why it can't be one: of a later release, or not an event at all. */
export function decodeEvent({ subject, sequence, timeMs, data }: RawEvent): LoggedEvent | Error {
  const [, channelkey, kind] = subject.split('.')
  try {
    const event = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString())
    if (event?.v !== 1) return new UnknownEventVersion(`event of version ${event?.v}`)
    if (channelkey === undefined || event.kind !== kind)
      return new Error(`kind ${event.kind} on subject ${subject}`)
    return { channelkey, sequence, timeMs, event }
  } catch (error) {
    return new Error(`not JSON: ${messageOf(error)}`)
  }
}

/** An event of a later release. */
export class UnknownEventVersion extends Error {
  override name = 'UnknownEventVersion'
}
