// The bucket `channel` read from a sequence on, for clients that were away (rule 25).
import { type LogConnection, LogUnavailable } from './connection.ts'
import { type BatchRequest, readBatch, type Stored } from './direct.ts'
import { isMarker } from './follow.ts'
import { streams } from './topology.ts'

/** A value; markers of deletion are left out. */
export type ShownValue = { channelkey: string; sequence: number; json: string }

const subjectPrefix = '$KV.channel.'
const batch = 250
/** Of one answer, so that a few large values do not fill the memory. */
const maxBytes = 1024 * 1024

/**
 * The values of one channel from a sequence on, in order; null: there are more than so many, or more than so many
 * bytes of them. `known`: the sequence of its last value as far as it is known; a replica of the log that is behind
 * that is of no use. Throws LogUnavailable.
 */
export async function readChannelFrom(
  connection: LogConnection,
  channelkey: string,
  { from, known, most, mostBytes }: { from: number; known: number; most: number; mostBytes: number },
): Promise<ShownValue[] | null> {
  const values: ShownValue[] = []
  let last = 0
  let bytes = 0
  for (let seq = from, pending = 1; pending > 0; seq = last + 1) {
    const stored = await read(connection, {
      seq,
      batch,
      max_bytes: maxBytes,
      next_by_subj: subjectPrefix + channelkey,
    })
    if (stored.length === 0) break
    last = stored.at(-1)?.sequence ?? last
    pending = Number(stored.at(-1)?.headers.last('Nats-Num-Pending') || 0)
    values.push(...stored.flatMap(toValues))
    bytes += bytesOf(stored)
    if (values.length + pending > most || bytes > mostBytes) return null
  }
  if (last < known && known >= from) throw new LogUnavailable('a replica of the log is behind')
  return values
}

/**
 * The values of all channels from one sequence to another that hold this text, in order; null: they have more than so
 * many bytes. Throws LogUnavailable.
 */
export async function readRange(
  connection: LogConnection,
  {
    from,
    through,
    holding,
    mostBytes,
  }: { from: number; through: number; holding: string; mostBytes: number },
): Promise<ShownValue[] | null> {
  const values: ShownValue[] = []
  let bytes = 0
  for (let seq = from; seq <= through; ) {
    const stored = await read(connection, {
      seq,
      batch: Math.min(batch, through - seq + 1),
      max_bytes: maxBytes,
    })
    const last = stored.at(-1)
    if (last === undefined) throw new LogUnavailable('a replica of the log is behind')
    seq = last.sequence + 1
    const held = stored.filter(({ data, sequence }) => sequence <= through && holds(data, holding))
    bytes += bytesOf(held)
    if (bytes > mostBytes) return null
    values.push(...held.flatMap(toValues))
  }
  return values
}

/** The first sequence that the log still has; infinite where it has none. Throws LogUnavailable. */
export async function firstSequence(connection: LogConnection): Promise<number> {
  const [first] = await read(connection, { seq: 1, batch: 1 })
  return first?.sequence ?? Number.POSITIVE_INFINITY
}

function read(connection: LogConnection, request: BatchRequest): Promise<Stored[]> {
  return readBatch(connection, streams.channel, request)
}

function bytesOf(stored: Stored[]): number {
  return stored.reduce((sum, { data }) => sum + data.length, 0)
}

function holds(data: Uint8Array, text: string): boolean {
  return Buffer.from(data.buffer, data.byteOffset, data.length).includes(text)
}

function toValues({ subject, sequence, headers, data }: Stored): ShownValue[] {
  if (isMarker(headers)) return []
  const json = Buffer.from(data.buffer, data.byteOffset, data.length).toString()
  return [{ channelkey: subject.slice(subjectPrefix.length), sequence, json }]
}
