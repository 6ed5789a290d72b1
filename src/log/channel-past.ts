// The past of single channels, read backwards from the bucket `channel` (rule 27). JetStream reads forwards only, so a
// window is read whose width is guessed from how far apart the channel's values lie.
import { type HistoryValue, readHistoryValue, UnknownVersion } from '../domain/value.ts'
import type { LogConnection } from './connection.ts'
import { type LastLimit, readBatch, readLast, type Stored } from './direct.ts'
import { streams } from './topology.ts'

const subjectPrefix = '$KV.channel.'

/** How many channels' last values are asked for at once. */
const channelsAtOnce = 100
const maxBytes = 1024 * 1024

/** Up to when: a sequence, or a time on the log's clock. Without one, the last value of all. */
export type UpTo = { sequence: number } | { timeMs: number } | null

/** Reads values of the bucket `channel` for one page of the history; all of it throws LogUnavailable. */
export class ChannelPast {
  readonly #connect: () => Promise<LogConnection>
  #valuesRead = 0

  /** connect: resolves when a read may begin; what it throws, the read throws. */
  constructor(connect: () => Promise<LogConnection>) {
    this.#connect = connect
  }

  /** What this page has cost so far. */
  get valuesRead(): number {
    return this.#valuesRead
  }

  /** The last value of each of these channels; those that have none, or were deleted since, are left out. */
  async last(channelkeys: readonly string[], upTo: UpTo): Promise<Map<string, HistoryValue>> {
    const found = new Map<string, HistoryValue>()
    for (let start = 0; start < channelkeys.length; start += channelsAtOnce) {
      const subjects = channelkeys.slice(start, start + channelsAtOnce).map(key => subjectPrefix + key)
      const connection = await this.#connect()
      for (const stored of await readLast(connection, streams.channel, subjects, limitOf(upTo))) {
        const value = storedValue(stored)
        if (value !== null) found.set(stored.subject.slice(subjectPrefix.length), value)
      }
    }
    return found
  }

  /** The values from a sequence on, up to a marker of deletion, the oldest first; at most so many. */
  async forwards(channelkey: string, sequence: number, count: number): Promise<HistoryValue[]> {
    return ofOneLife(await this.#read(channelkey, sequence, count))
  }

  /**
   * At most `count` values that end with that of the sequence `end`, which must be the channel's, the newest first; at
   * least one unless retention has taken it. `spacing`: how far apart they are thought to lie, in sequences.
   */
  async backwards(channelkey: string, end: number, count: number, spacing: number): Promise<HistoryValue[]> {
    let start = Math.max(1, end - Math.floor(spacing * (count - 1)))
    while (true) {
      const stored = await this.#read(channelkey, start, count)
      const last = stored.at(-1)?.sequence ?? end
      if (last >= end) return ofOneLife(stored.filter(({ sequence }) => sequence <= end).reverse())
      // They lie closer together than was thought. The window shrinks at least by what was read.
      const closer = (last + 1 - start) / stored.length
      start = Math.max(last + 1, end - Math.floor(closer * (count - 1)))
    }
  }

  async #read(channelkey: string, sequence: number, batch: number): Promise<Stored[]> {
    const connection = await this.#connect()
    const stored = await readBatch(connection, streams.channel, {
      seq: sequence,
      batch,
      max_bytes: maxBytes,
      next_by_subj: subjectPrefix + channelkey,
    })
    this.#valuesRead += stored.length
    return stored
  }
}

function limitOf(upTo: UpTo): LastLimit {
  if (upTo === null) return {}
  if ('sequence' in upTo) return { up_to_seq: upTo.sequence }
  return { up_to_time: new Date(upTo.timeMs).toISOString() }
}

/** Up to a marker of deletion, or to what is no value of this release: the history reaches no further. */
function ofOneLife(stored: Stored[]): HistoryValue[] {
  const values = stored.map(storedValue)
  const end = values.indexOf(null)
  return values.slice(0, end < 0 ? values.length : end).filter(value => value !== null)
}

function storedValue({ sequence, data }: Stored): HistoryValue | null {
  if (data.length === 0) return null
  return historyValueOf(sequence, Buffer.from(data.buffer, data.byteOffset, data.length).toString())
}

/** null: not a value of this release. */
export function historyValueOf(sequence: number, json: string): HistoryValue | null {
  try {
    return readHistoryValue(sequence, json)
  } catch (error) {
    if (error instanceof UnknownVersion || error instanceof SyntaxError) return null
    throw error
  }
}
