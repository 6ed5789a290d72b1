// What is folded, from one loading of the bucket to the next failure.
import type { RawEvent } from '../log/event-log.ts'
import type { ChannelStates } from './channel-states.ts'
import type { ValueWriter } from './value-writer.ts'

export type Fold = {
  readonly states: ChannelStates
  readonly writer: ValueWriter
  /** Sequence in EVENTS: up to here everything is folded and sent to the bucket. */
  folded: number
  /** Who is told of each event before it is folded: a rebuild under way. */
  guest?: { before(event: RawEvent): void }
}
