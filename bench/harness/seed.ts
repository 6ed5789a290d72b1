// Fills the buckets of a NATS server as a running service would have, and makes the messages that change a channel.
import { createHash } from 'node:crypto'
import type { PushEvent } from '../../src/domain/event.ts'
import { type Channel, plainChannel } from '../../src/domain/registry.ts'
import { initialState } from '../../src/domain/state.ts'
import { readValue } from '../../src/domain/value.ts'
import { connectLog, type LogConnection } from '../../src/log/connection.ts'
import { ensureTopology, type Topology } from '../../src/log/topology.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Known } from '../../src/projector/channel-states.ts'
import { foldEvent } from '../../src/projector/values.ts'
import { startNats, type TestNats } from '../../test/helpers/nats.ts'
import { generatorCore, pin } from './cores.ts'
import { blankToken } from './generator.ts'

export type World = {
  readonly nats: TestNats
  /** host:port. */
  readonly address: string
  readonly connection: LogConnection
  readonly topology: Topology
  stop(): Promise<void>
}

export type Seed = {
  channels: number
  stations?: number
  /** What is shown, now and next, of each channel; default true. */
  shown?: boolean
  tokens?: boolean
}

export const keyOf = (channel: number) => `bench_${channel}`
export const stationOf = (channel: number, stations: number) => `station_${channel % stations}`
export const tokenOf = (channel: number) => `push-token-of-the-bench-${channel}`
/** Values on their way before an ack is waited for. */
const unacked = 2_000

/** A NATS server on the generator's core, with these channels. */
export async function createWorld(
  seed: Seed,
  { syncAlways = false, core = generatorCore } = {},
): Promise<World> {
  const nats = await startNats({ syncAlways })
  const connection = await connectLog({ url: nats.url }, 'bench', createLog('silent'), null)
  const topology = await ensureTopology(connection, { replicas: 1, retentionDays: 10 })
  await fill(connection, topology, seed)
  pin(nats.pid, core)
  return {
    nats,
    address: new URL(nats.url).host,
    connection,
    topology,
    async stop() {
      await connection.close()
      await nats.stop()
    },
  }
}

async function fill(connection: LogConnection, { incarnation }: Topology, seed: Seed): Promise<void> {
  const { channels, stations = Math.ceil(channels / 4), shown = true, tokens = false } = seed
  const writer = new Writer(connection)
  for (let station = 0; station < stations; station++) {
    const key = stationOf(station, stations)
    await writer.put(
      `registry.station.${key}`,
      JSON.stringify({ key, name: `Station ${station}`, timezone: null }),
    )
  }
  for (let channel = 0; channel < channels; channel++) {
    const key = keyOf(channel)
    await writer.put(`registry.channel.${key}`, JSON.stringify(channelOf(channel, stations)))
    if (tokens) {
      const hash = createHash('sha256').update(tokenOf(channel)).digest('hex')
      const stored = { hash, label: 'bench', createdAt: '2026-01-01T00:00:00.000Z' }
      await writer.put(`token.${key}.${hash.slice(0, 16)}`, JSON.stringify(stored))
    }
    if (shown) await writer.put(`channel.${key}`, shownValue(channel, stations, incarnation, channel + 1))
  }
  await writer.end()
}

class Writer {
  readonly #connection: LogConnection
  #count = 0
  #acked: Promise<unknown> = Promise.resolve()

  constructor(connection: LogConnection) {
    this.#connection = connection
  }

  async put(key: string, value: string): Promise<void> {
    const { nc, js } = this.#connection
    if (++this.#count % unacked !== 0) nc.publish(`$KV.${key}`, value)
    else {
      await this.#acked
      this.#acked = js.publish(`$KV.${key}`, value, { timeout: 60_000 })
    }
  }

  /** Every stream has taken what was sent to it. */
  async end(): Promise<void> {
    await this.#acked
    await this.#connection.nc.flush()
    for (const stream of ['registry', 'token', 'channel']) await this.#settled(`KV_${stream}`)
  }

  async #settled(stream: string): Promise<void> {
    for (let last = -1; ; await new Promise(resolve => setTimeout(resolve, 200))) {
      const { state } = await this.#connection.jsm.streams.info(stream)
      if (state.last_seq === last) return
      last = state.last_seq
    }
  }
}

function channelOf(channel: number, stations: number): Channel {
  return plainChannel(keyOf(channel), stationOf(channel, stations), `Channel ${channel}`)
}

/** A value with now and next. */
function shownValue(channel: number, stations: number, incarnation: string, sequence: number): string {
  const now = folded(
    { state: initialState, sequence: 0 },
    channel,
    stations,
    'now',
    `Song of ${channel}`,
    incarnation,
    sequence,
  )
  const next = folded(now.known, channel, stations, 'next', `Next of ${channel}`, incarnation, sequence)
  return next.json
}

/** The value that shows one new song on a channel, with a blank token in it. */
export function newSong(
  channel: number,
  stations: number,
  { incarnation }: Topology,
  sequence: number,
): string {
  return folded(
    { state: initialState, sequence: 0 },
    channel,
    stations,
    'now',
    blankToken,
    incarnation,
    sequence,
  ).json
}

/** As it goes to a NATS server. */
export function natsMessage(channel: number, value: string): Buffer {
  const body = Buffer.from(value)
  return Buffer.concat([
    Buffer.from(`PUB $KV.channel.${keyOf(channel)} ${body.length}\r\n`),
    body,
    Buffer.from('\r\n'),
  ])
}

/** The record of a value as players get it, as it goes to a bare server. */
export function postMessage(value: string, path = '/publish'): Buffer {
  const body = Buffer.from(readValue(value).nowJson ?? '')
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

export function getMessage(path: string, headers: Record<string, string> = {}): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`)
}

/** A push whose song holds a blank token. */
export function pushMessage(channel: number): Buffer {
  const query = `artist=Mira+Holt&song=${blankToken}&duration=214&etype=1001&album=Paper+Lanterns&isrc=DEZZZ2600001`
  return getMessage(`/metapush/${keyOf(channel)}/${tokenOf(channel)}?${query}`)
}

export function pushEvent(channel: number, stations: number, kind: 'now' | 'next', song: string): PushEvent {
  const nowMs = Date.now()
  return {
    v: 1,
    kind,
    element: {
      id: `01940000-0000-7000-8000-${String(channel).padStart(12, '0')}`,
      song,
      artist: 'Mira Holt',
      album: 'Paper Lanterns',
      cover: 'https://covers.example/paper-lanterns.jpg',
      images: null,
      separator: ' - ',
      isrc: 'DEZZZ2600001',
      duration: 214,
      etype: 1001,
      extdata: null,
      externalid: null,
    },
    given: ['id', 'song', 'artist', 'album', 'cover', 'isrc', 'duration', 'etype'],
    startMs: nowMs,
    explicit: false,
    receivedMs: nowMs,
    intake: 'bench',
    warnings: [],
    context: {
      revision: 1,
      stationkey: stationOf(channel, stations),
      station: `Station ${channel % stations}`,
      channel: `Channel ${channel}`,
      timezone: 'UTC',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
    },
  }
}

function folded(
  before: Known,
  channel: number,
  stations: number,
  kind: 'now' | 'next',
  song: string,
  incarnation: string,
  sequence: number,
): { json: string; known: Known } {
  const event = pushEvent(channel, stations, kind, song)
  const logged = { channelkey: keyOf(channel), sequence, timeMs: event.receivedMs, event }
  const { values, known } = foldEvent(before, logged, incarnation, sequence - 1)
  return { json: values.at(-1)?.json ?? '', known }
}
