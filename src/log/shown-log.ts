// The bucket `channel` read from a sequence on, for clients that were away (rule 25).
import { type LogConnection, LogUnavailable } from './connection.ts'
import { type BatchRequest, readBatch, type Stored } from './direct.ts'
import { isMarker } from './follow.ts'
import { streams } from './topology.ts'

/** A value; markers of deletion are left out. */
export type ShownValue = { channelkey: string; sequence: number; json: string }

const subjectPrefix = '$KV.channel.'
const batch = 250

/**
 * The values of one channel from a sequence on, in order; null: there are more than so many. `known`: the sequence of
 * its last value as far as it is known; a replica of the log that is behind that is of no use. Throws LogUnavailable.
 */
export async function readChannelFrom(
  connection: LogConnection,
  channelkey: string,
  { from, known, most }: { from: number; known: number; most: number },
): Promise<ShownValue[] | null> {
  const values: ShownValue[] = []
  let last = 0
  for (let seq = from, pending = 1; pending > 0; seq = last + 1) {
    const stored = await read(connection, { seq, batch, next_by_subj: subjectPrefix + channelkey })
    if (stored.length === 0) break
    last = stored.at(-1)?.sequence ?? last
    pending = Number(stored.at(-1)?.headers.last('Nats-Num-Pending') || 0)
    values.push(...stored.flatMap(toValues))
    if (values.length + pending > most) return null
  }
  if (last < known && known >= from) throw new LogUnavailable('a replica of the log is behind')
  return values
}

/** The values of all channels from one sequence to another that hold these bytes, in order. Throws LogUnavailable. */
export async function readRange(
  connection: LogConnection,
  { from, through, holding }: { from: number; through: number; holding: string },
): Promise<ShownValue[]> {
  const values: ShownValue[] = []
  for (let seq = from; seq <= through; ) {
    const stored = await read(connection, { seq, batch: Math.min(batch, through - seq + 1) })
    const last = stored.at(-1)
    if (last === undefined) throw new LogUnavailable('a replica of the log is behind')
    seq = last.sequence + 1
    values.push(
      ...stored.filter(({ data, sequence }) => sequence <= through && holds(data, holding)).flatMap(toValues),
    )
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

function holds(data: Uint8Array, text: string): boolean {
  return Buffer.from(data.buffer, data.byteOffset, data.length).includes(text)
}

function toValues({ subject, sequence, headers, data }: Stored): ShownValue[] {
  if (isMarker(headers)) return []
  const json = Buffer.from(data.buffer, data.byteOffset, data.length).toString()
  return [{ channelkey: subject.slice(subjectPrefix.length), sequence, json }]
}
