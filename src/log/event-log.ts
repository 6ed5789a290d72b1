// The stream EVENTS, what was said: append and read.
import type { LoggedEvent, NowNextEvent } from '../domain/event.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { LogConnection } from './connection.ts'

export type Appended = { sequence: number; duplicate: boolean }

export class EventLog {
  constructor(_connection: LogConnection, _metrics: Metrics) {}

  /**
   * Appends one event and resolves after JetStream's ack. Sent again under the same message id on a time-out (1 s)
   * or without responders, with back-off, until the deadline (design: 9 s in all); then throws LogUnavailable.
   * Knows nothing of the order of calls: one append in flight per channel is the intake's business.
   */
  append(
    _channelkey: string,
    _event: NowNextEvent,
    _messageId: string,
    _deadlineMs: number,
  ): Promise<Appended> {
    throw new Error('not built')
  }

  /** The events from one sequence to another, both included, in order; those past retention are left out. */
  read(_from: number, _to: number): AsyncIterable<LoggedEvent> {
    throw new Error('not built')
  }
}
