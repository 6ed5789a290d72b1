// An edge on a real nats-server, and one who writes what is shown as the projector does.
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { emptyRecord, type MetadataRecord, makeRecord } from '../../src/domain/record.ts'
import { plainChannel } from '../../src/domain/registry.ts'
import { initialState } from '../../src/domain/state.ts'
import { encodeValue } from '../../src/domain/value.ts'
import { Edge, type EdgeOptions } from '../../src/edge/edge.ts'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import { connectLog } from '../../src/log/connection.ts'
import { encodePosition } from '../../src/log/position.ts'
import { Registry } from '../../src/log/registry.ts'
import { ensureTopology } from '../../src/log/topology.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { startNats } from '../helpers/nats.ts'

export type World = Awaited<ReturnType<typeof createWorld>>
export type TestEdge = Awaited<ReturnType<World['edge']>>

/** What a record says, with what stands for the rest. */
export type Said = { artist?: string; song?: string; station?: string; extra?: string }

/** A server with stations `one` and `two` and channels a, b (of one) and c (of two). */
export async function createWorld() {
  const nats = await startNats()
  const log = createLog('silent')
  const connection = await connectLog({ url: nats.url }, 'test', log, createMetrics())
  const topology = await ensureTopology(connection, { replicas: 1, retentionDays: 10 })
  const registry = new Registry(connection)
  await registry.start()
  for (const key of ['one', 'two']) await registry.putStation({ key, name: '', timezone: null })
  for (const [key, station] of [
    ['a', 'one'],
    ['b', 'one'],
    ['c', 'two'],
  ] as const)
    await registry.putChannel(plainChannel(key, station))
  const bucket = new ChannelBucket(connection, 'test')
  const closing: Array<() => Promise<unknown>> = []
  let sequence = 0

  return {
    nats,
    registry,
    connection,
    topology,

    /** Of the last value written. */
    sequence: () => sequence,

    /** Starts an edge; it is stopped with the world. */
    async edge(options: Partial<EdgeOptions> & { settings?: Partial<EdgeOptions['config']> } = {}) {
      const { settings, ...rest } = options
      const metrics = createMetrics()
      const config = {
        host: '127.0.0.1',
        edgePort: 0,
        tlsCert: undefined,
        tlsKey: undefined,
        drain: 0,
        maxSockets: undefined,
        socketQueue: 262_144,
        ...settings,
      }
      const edge = new Edge({ config, connection, topology, registry, log, metrics, ...rest })
      await edge.start()
      closing.push(() => edge.stop())
      return { edge, metrics, port: edge.port, url: `http://127.0.0.1:${edge.port}` }
    },

    /**
     * Writes one value: `now` and `next` are what is shown after it, 'gone' stands for the empty record.
     * Resolves to the two records as they go to players.
     */
    async show(
      channelkey: string,
      now: Said | null,
      next: Said | 'gone' | null,
      send: Array<'next' | 'now'>,
    ) {
      sequence++
      const nowRecord = now && recordOf(channelkey, 'now', now)
      const nextRecord =
        next === 'gone'
          ? emptyRecord(recordOf(channelkey, 'next', {}), 0)
          : next && recordOf(channelkey, 'next', next)
      const change = {
        state: initialState,
        now: nowRecord,
        next: nextRecord,
        send,
        play: null,
        warnings: [],
        removed: false,
      }
      const at = (slot: 0 | 1) => encodePosition(topology.incarnation, { sequence, slot })
      const json = encodeValue(change, { event: sequence, done: true, prev: 0 }, { next: at(0), now: at(1) })
      await bucket.append({ channelkey, json }, sequence - 1)
      return { now: { ...nowRecord, position: at(1) }, next: { ...nextRecord, position: at(0) } }
    },

    /** Writes any text as a value. */
    async write(channelkey: string, json: string): Promise<void> {
      await bucket.append({ channelkey, json }, sequence++)
    },

    async marker(channelkey: string) {
      await bucket.append({ channelkey, json: null, event: 1, revision: 1 }, sequence++)
    },

    async close() {
      for (const close of closing.reverse()) await close()
      await registry.stop()
      await connection.close()
      await nats.stop()
    },
  }
}

function recordOf(channelkey: string, type: 'now' | 'next', said: Said): MetadataRecord {
  const { artist = 'Artist', song = 'Song', station = channelkey === 'c' ? 'two' : 'one', extra } = said
  return makeRecord({
    channelkey,
    type,
    startMs: 1_800_000_000_000,
    source: 'metapush',
    element: {
      id: 'id',
      song,
      artist,
      album: '',
      cover: '',
      images: null,
      separator: ' - ',
      isrc: '',
      duration: 180,
      etype: 0,
      extdata: extra === undefined ? null : JSON.stringify({ extra }),
      externalid: null,
    },
    context: {
      revision: 1,
      stationkey: station,
      station,
      channel: channelkey,
      timezone: 'UTC',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
    },
  })
}

/** A client and all that it received. */
export class Listener {
  readonly ws: WebSocket
  readonly messages: string[] = []
  readonly #changed: Array<() => void> = []

  constructor(url: string) {
    this.ws = new WebSocket(url.replace('http', 'ws'))
    this.ws.on('message', (data, isBinary) => {
      if (isBinary) throw new Error('a binary message')
      this.messages.push(String(data))
      for (const changed of this.#changed.splice(0)) changed()
    })
  }

  static async open(url: string): Promise<Listener> {
    const listener = new Listener(url)
    await once(listener.ws, 'open')
    return listener
  }

  /** The records received, once there are this many. */
  async records(count: number): Promise<Array<Record<string, unknown>>> {
    while (this.messages.length < count) await new Promise<void>(changed => this.#changed.push(changed))
    return this.messages.map(message => JSON.parse(message))
  }

  async closed(): Promise<{ code: number; reason: string }> {
    const [code, reason] = await once(this.ws, 'close')
    return { code, reason: String(reason) }
  }
}

/** The value of a metric, with one label. */
export async function count(
  metric: { get(): Promise<{ values: Array<{ value: number; labels: object }> }> },
  label: string,
): Promise<number> {
  const { values } = await metric.get()
  return values.find(({ labels }) => Object.values(labels).includes(label))?.value ?? 0
}

/** The HTTP answer to a refused upgrade. */
export async function refusal(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const ws = new WebSocket(url.replace('http', 'ws'))
  ws.on('error', () => undefined)
  const [, response] = await once(ws, 'unexpected-response')
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) }
}

/** Waits until it holds; the test runner's own time-out ends a vain wait. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 5))
}
