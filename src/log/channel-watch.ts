// One watch of the whole bucket `channel`: snapshot, then live, in one order (the edge's only input).
import type { LogConnection } from './connection.ts'
import { Follower } from './follow.ts'

/** A value or a delete marker of the bucket, in the order of the stream. */
export type ChannelUpdate = {
  channelkey: string
  /** Sequence in KV_channel. */
  sequence: number
  /** The value's JSON, to be read at once: its memory is that of all that came with it. null for a delete marker. */
  value: Buffer | null
}

export type ChannelWatchHandlers = {
  update(update: ChannelUpdate): void
  /** Once, when the snapshot is complete (an empty bucket too). */
  caughtUp(): void
}

/**
 * Watches until stopped, over reconnects and server restarts, without gap or double. A snapshot that a reconnect
 * broke may bring a superseded value of a key before its last one; the order is that of the stream all the same.
 */
export async function watchChannels(
  connection: LogConnection,
  handlers: ChannelWatchHandlers,
): Promise<{ stop(): Promise<void> }> {
  const follower = new Follower(connection, 'channel', {
    update({ key, sequence, data }) {
      const value = data === null ? null : Buffer.from(data.buffer, data.byteOffset, data.length)
      handlers.update({ channelkey: key, sequence, value })
    },
    caughtUp: () => handlers.caughtUp(),
  })
  await follower.start()
  return { stop: async () => follower.stop() }
}
