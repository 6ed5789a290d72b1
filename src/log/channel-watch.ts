// One watch of the whole bucket `channel`: snapshot, then live, in one order (the edge's only input).
import type { LogConnection } from './connection.ts'

/** A value or a delete marker of the bucket, in the order of the stream. */
export type ChannelUpdate = {
  channelkey: string
  /** Sequence in KV_channel. */
  sequence: number
  /** The value's JSON; null for a delete marker. */
  value: string | null
}

export type ChannelWatchHandlers = {
  update(update: ChannelUpdate): void
  /** Once, when the snapshot is complete (an empty bucket too). */
  caughtUp(): void
}

/** Watches until stopped, over reconnects and server restarts, without gap or double. */
export function watchChannels(
  _connection: LogConnection,
  _handlers: ChannelWatchHandlers,
): Promise<{ stop(): Promise<void> }> {
  throw new Error('not built')
}
