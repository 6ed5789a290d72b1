// The strict check of a projector's work: what was shown must be the pure fold of what was said, value by value.
// It reads both streams with the plain client and shares with the projector only the reducer and the encodings.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { DeliverPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { reduce } from '../../src/domain/now-next.ts'
import { type ChannelState, initialState } from '../../src/domain/state.ts'
import { encodeValue } from '../../src/domain/value.ts'
import { encodePosition } from '../../src/log/position.ts'

export type FoldCheck = {
  /** How many events and values were compared. */
  events: number
  values: number
  /** Sequence in EVENTS of the last event. */
  lastEvent: number
}

/** Throws an AssertionError that names the first difference. */
export async function checkFold(url: string): Promise<FoldCheck> {
  const nc = await connect({ servers: url })
  try {
    const jsm = await jetstreamManager(nc)
    const { config } = await jsm.streams.info('KV_channel')
    const incarnation = config.metadata?.['nownext-incarnation'] ?? ''
    const said = await readAll(nc, 'EVENTS')
    const shown = await readAll(nc, 'KV_channel')
    const expected = new Fold(incarnation).more(said)
    for (const [index, value] of expected.entries()) checkValue(value, shown[index])
    assert.equal(shown.length, expected.length, 'values that no event explains')
    return { events: said.length, values: shown.length, lastEvent: said.at(-1)?.seq ?? 0 }
  } finally {
    await nc.close()
  }
}

export type Expected = {
  channelkey: string
  /** Sequence in EVENTS of the event that made it. */
  event: number
  /** Sequence in the bucket. */
  sequence: number
  json: string
  operation: string
  revision: number
}

/** Throws an AssertionError where the bucket's message is not the expected value. */
export function checkValue(value: Expected, message: JsMsg | undefined): void {
  const where = `value ${value.sequence}, of event ${value.event}`
  assert.ok(message, `${where} is missing`)
  assert.equal(message.seq, value.sequence, where)
  assert.equal(message.subject, `$KV.channel.${value.channelkey}`, where)
  assert.equal(message.string(), value.json, where)
  assert.equal(message.headers?.get('KV-Operation') ?? '', value.operation, where)
  if (value.operation === 'DEL') {
    assert.equal(message.headers?.get('Nownext-Event'), String(value.event), where)
    assert.equal(message.headers?.get('Nownext-Revision'), String(value.revision), where)
  }
}

/** The whole of EVENTS folded, piece by piece. */
export class Fold {
  readonly #incarnation: string
  readonly #states = new Map<string, ChannelState>()
  readonly #last = new Map<string, number>()
  #sequence = 0

  constructor(incarnation: string) {
    this.#incarnation = incarnation
  }

  /** The values that the next messages of EVENTS make. */
  more(messages: JsMsg[]): Expected[] {
    const expected: Expected[] = []
    for (const message of messages) {
      const channelkey = message.subject.split('.')[1] ?? ''
      for (const [index, change, all] of changesOf(this.#states, channelkey, message)) {
        const sequence = ++this.#sequence
        const place = { event: message.seq, done: index === all - 1, prev: this.#last.get(channelkey) ?? 0 }
        const positions = {
          now: encodePosition(this.#incarnation, { sequence, slot: 1 }),
          next: encodePosition(this.#incarnation, { sequence, slot: 0 }),
        }
        this.#states.set(channelkey, change.state)
        this.#last.set(channelkey, change.removed ? 0 : sequence)
        expected.push({
          channelkey,
          event: message.seq,
          sequence,
          json: change.removed ? '' : encodeValue(change, place, positions),
          operation: change.removed ? 'DEL' : '',
          revision: change.state.deletedRevision,
        })
      }
    }
    return expected
  }
}

/** A poisonous event, and one of another version, counts as never said. */
function* changesOf(states: Map<string, ChannelState>, channelkey: string, message: JsMsg) {
  let changes: ReturnType<typeof reduce>
  try {
    const event = JSON.parse(message.string())
    if (event.v !== 1) return
    const timeMs = Number(message.timestampNanos / 1_000_000n)
    const logged = { channelkey, sequence: message.seq, timeMs, event }
    changes = reduce(states.get(channelkey) ?? initialState, logged)
  } catch (error) {
    assert.ok(error instanceof Error)
    return
  }
  for (const [index, change] of changes.entries()) yield [index, change, changes.length] as const
}

/** All messages of a stream, in order. */
export async function readStream(url: string, stream: string): Promise<JsMsg[]> {
  const nc = await connect({ servers: url })
  try {
    return await readAll(nc, stream)
  } finally {
    await nc.close()
  }
}

/** How long a server may be away while a stream is read. */
const patienceMs = 30_000

/** All messages from a sequence on, in order; over servers that die, for whoever judges what that did. */
export async function readAll(nc: NatsConnection, stream: string, from = 1): Promise<JsMsg[]> {
  const messages: JsMsg[] = []
  for (const endMs = performance.now() + patienceMs; ; ) {
    try {
      await readOn(nc, stream, (messages.at(-1)?.seq ?? from - 1) + 1, messages)
      return messages
    } catch (error) {
      if (performance.now() > endMs) throw error
      await wait(200)
    }
  }
}

async function readOn(nc: NatsConnection, stream: string, from: number, into: JsMsg[]): Promise<void> {
  const consumer = await jetstream(nc).consumers.get(stream, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from,
  })
  let { num_pending: pending } = await consumer.info(true)
  while (pending > 0) {
    for await (const message of await consumer.fetch({
      max_messages: Math.min(pending, 500),
      expires: 5_000,
    })) {
      into.push(message)
      pending = message.info.pending
    }
  }
}
