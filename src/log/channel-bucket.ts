// The bucket `channel` for its only writer, the projector: fenced appends, and the last value of every key.
import { DeliverPolicy, PubHeaders } from '@nats-io/jetstream'
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import { eventOfValue } from '../domain/value.ts'
import { asLogError, failureOf, type LogConnection, LogUnavailable } from './connection.ts'
import { firstSince, type LastLimit, leaderHas, readBatch, readLast, type Stored } from './direct.ts'
import { isMarker } from './follow.ts'
import { streams } from './topology.ts'

/** A value as it is written: its JSON, or what a delete marker says in its headers. */
export type ValueToWrite =
  | { channelkey: string; json: string }
  | { channelkey: string; json: null; event: number; revision: number }

/** The last value of a key, or its delete marker. */
export type ChannelValue = ValueToWrite & {
  /** Sequence in KV_channel. */
  sequence: number
  /** Which projector wrote it. */
  writer: string
}

/** On a delete marker: sequence in EVENTS, and registry revision of the removal. */
const eventHeader = 'Nownext-Event'
const revisionHeader = 'Nownext-Revision'
/** On every value: the process that wrote it. */
const writerHeader = 'Nownext-Projector'
const subjectPrefix = '$KV.channel.'
const appendTimeoutMs = 2_000
const loadBatch = 500
const loadTimeoutMs = 5_000

/** Another message came between: somebody else writes, or an append of ours was lost. Nothing was stored. */
export class WrongSequence extends Error {
  override name = 'WrongSequence'
}

export class ChannelBucket {
  readonly #connection: LogConnection
  readonly #writer: string

  /** writer: a name that no other process has. */
  constructor(connection: LogConnection, writer: string) {
    this.#connection = connection
    this.#writer = writer
  }

  /**
   * Appends a value only if `lastSequence` is still the last one of the whole bucket; so its sequence is known to be
   * lastSequence + 1 before it is sent, and many may be on their way at once. Throws WrongSequence; LogUnavailable
   * where it may be stored or not.
   */
  async append(value: ValueToWrite, lastSequence: number): Promise<void> {
    const head = headers()
    head.set(writerHeader, this.#writer)
    head.set(PubHeaders.ExpectedLastSeqHdr, String(lastSequence))
    if (value.json === null) {
      head.set('KV-Operation', 'DEL')
      head.set(eventHeader, String(value.event))
      head.set(revisionHeader, String(value.revision))
    }
    try {
      await this.#connection.publisher.publish({
        subject: subjectPrefix + value.channelkey,
        payload: value.json ?? '',
        headers: head,
        timeoutMs: appendTimeoutMs,
      })
    } catch (error) {
      if (failureOf(error) === 'wrong sequence')
        throw new WrongSequence(`not behind ${lastSequence}`, { cause: error })
      throw asLogError(error)
    }
  }

  /** Whether it was this process that wrote the value. */
  isOwn(value: ChannelValue): boolean {
    return value.writer === this.#writer
  }

  /**
   * Calls back with the last value of every key, in order of sequence; resolves to the bucket's last sequence.
   * Reads a batch at a time: a flood of values on the connection would hold up the pulling that keeps the pin.
   * Throws LogUnavailable, or the signal's reason.
   */
  async load(take: (value: ChannelValue) => void, signal: AbortSignal): Promise<number> {
    const last = await this.#lastSequence()
    try {
      const consumer = await this.#connection.js.consumers.get(streams.channel, {
        deliver_policy: DeliverPolicy.LastPerSubject,
        filter_subjects: `${subjectPrefix}>`,
      })
      let { num_pending: pending } = await consumer.info(true)
      let read = 0
      while (pending > 0) {
        signal.throwIfAborted()
        const before = read
        const batch = { max_messages: Math.min(pending, loadBatch), expires: loadTimeoutMs }
        for await (const message of await consumer.fetch(batch)) {
          pending = message.info.pending
          read = message.seq
          const { subject, seq: sequence, data, headers } = message
          take(channelValueOf({ subject, sequence, data, headers }))
        }
        if (read === before) throw new LogUnavailable('the bucket channel is not read any further')
      }
      await consumer.delete()
      // The consumer may lie on a replica that is behind. The bucket's last value is the last of its key, so it was to come.
      if (read < last && (await this.#isThere(last)))
        throw new LogUnavailable('a replica of channel is behind')
      return Math.max(last, read)
    } catch (error) {
      throw asLogError(error)
    }
  }

  /** One value, as long as retention leaves it. Throws LogUnavailable. */
  async read(channelkey: string, sequence: number): Promise<ChannelValue | undefined> {
    const [value] = await this.#readOne(channelkey, { seq: sequence })
    return value?.sequence === sequence ? value : undefined
  }

  /** The first value that was stored at this time or later, or where the next one will be. Throws LogUnavailable. */
  async firstSequenceSince(timeMs: number): Promise<number> {
    const next = (await this.#lastSequence()) + 1
    return (await firstSince(this.#connection, streams.channel, timeMs))?.sequence ?? next
  }

  /**
   * The channel's last value of an event before `event`, or its delete marker; undefined where there is none (any
   * more). `aboutMs`: when the channel's first event from there on was stored. The two streams may keep time apart,
   * and the projector may have been behind, so it is searched in both directions from there. Throws LogUnavailable.
   */
  async lastBefore(channelkey: string, event: number, aboutMs: number): Promise<ChannelValue | undefined> {
    const subject = [subjectPrefix + channelkey]
    let limit: LastLimit = { up_to_time: new Date(aboutMs).toISOString() }
    let found: ChannelValue | undefined
    do {
      const [last] = await readLast(this.#connection, streams.channel, subject, limit)
      found = last && channelValueOf(last)
      limit = { up_to_seq: (found?.sequence ?? 1) - 1 }
    } while (found !== undefined && eventOf(found) >= event && found.sequence > 1)
    let best = found !== undefined && eventOf(found) < event ? found : undefined
    for (let next = (found?.sequence ?? 0) + 1; ; ) {
      const [value] = await this.#readOne(channelkey, { seq: next })
      if (value === undefined || eventOf(value) >= event) return best
      best = value
      next = value.sequence + 1
    }
  }

  async #readOne(channelkey: string, from: { seq: number }): Promise<ChannelValue[]> {
    const request = { ...from, batch: 1, next_by_subj: subjectPrefix + channelkey }
    return (await readBatch(this.#connection, streams.channel, request)).map(channelValueOf)
  }

  /** Whether the leader holds this value: it may have been removed, by retention or by hand. */
  async #isThere(sequence: number): Promise<boolean> {
    return (await leaderHas(this.#connection, streams.channel, { seq: sequence })) === sequence
  }

  /** Retention may have emptied the bucket: its last sequence still counts. */
  async #lastSequence(): Promise<number> {
    try {
      return (await this.#connection.jsm.streams.info(streams.channel)).state.last_seq
    } catch (error) {
      throw asLogError(error)
    }
  }
}

/** The event in EVENTS that made a value; 0 where that can't be read. */
function eventOf(value: ChannelValue): number {
  return value.json === null ? value.event : (eventOfValue(value.json)?.event ?? 0)
}

type StoredValue = Pick<Stored, 'subject' | 'sequence' | 'data'> & { headers?: MsgHdrs | undefined }

function channelValueOf({ subject, sequence, data, headers: head }: StoredValue): ChannelValue {
  const common = {
    channelkey: subject.slice(subjectPrefix.length),
    sequence,
    writer: head?.get(writerHeader) ?? '',
  }
  if (!isMarker(head)) {
    return { ...common, json: Buffer.from(data.buffer, data.byteOffset, data.length).toString() }
  }
  return {
    ...common,
    json: null,
    event: Number(head?.get(eventHeader) || 0),
    revision: Number(head?.get(revisionHeader) || 0),
  }
}
