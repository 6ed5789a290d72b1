// How long does a page of the history take, at both ends of a long log, and does live delivery notice?
//
//   node --import tsx bench/history.ts [--events 1000000] [--channels 10000] [--rounds 10] [--nats nats://…]
//
// Starts a nats-server, fills the log of shown records, and asks an edge of this process over HTTP. With --nats an empty
// server, or one that an earlier run has filled with the same numbers, is used. Every page is of a channel that was not
// asked for before, so nothing is cached but by the nats-server and the system.
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import WebSocket from 'ws'
import type { Channel } from '../src/domain/registry.ts'
import { Edge } from '../src/edge/edge.ts'
import { connectLog, type LogConnection } from '../src/log/connection.ts'
import { Registry } from '../src/log/registry.ts'
import { ensureTopology } from '../src/log/topology.ts'
import { createLog } from '../src/observe/log.ts'
import { createMetrics } from '../src/observe/metrics.ts'
import { startNats } from '../test/helpers/nats.ts'
import { load, loadedKey } from './load.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    channels: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '10' },
    nats: { type: 'string' },
  },
})
const [events, channels, rounds] = [values.events, values.channels, values.rounds].map(Number) as [
  number,
  number,
  number,
]
const stationkey = 'load'
const playSeconds = 200

const nats = values.nats === undefined ? await startNats() : undefined
const metrics = createMetrics()
const log = createLog('warn')
const connection = await connectLog({ url: values.nats ?? nats?.url ?? '' }, 'bench', log, metrics)
const topology = await ensureTopology(connection, { replicas: 1, retentionDays: 400 })
const [firstSeconds, lastSeconds] = await fill()
const registry = new Registry(connection)
await registry.start()
await registry.putStation({ key: stationkey, name: 'Load', timezone: 'UTC' })
const config = {
  host: '127.0.0.1',
  edgePort: 0,
  tlsCert: undefined,
  tlsKey: undefined,
  drain: 0,
  maxSockets: undefined,
  socketQueue: 262_144,
}
const edge = new Edge({ config, connection, topology, registry, log, metrics })
const startedMs = performance.now()
await edge.start()
console.log(`the edge has read the log in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)

console.log(`\n${'ms'.padEnd(44)}${'rows'.padStart(6)}${'median'.padStart(9)}${'max'.padStart(9)}`)
let channel = 0
const seconds = (share: number) => Math.round(firstSeconds + (lastSeconds - firstSeconds) * share)
await row('newest page of 20', () => 'limit=20')
await row('newest page of 20, again', () => 'limit=20', true)
await row('newest page of 1000', () => 'limit=1000')
await row('the first 20 plays of the log, by time', () => `limit=20&to=${seconds(0.2)}`)
await row('20 plays in the middle, by time', () => `limit=20&to=${seconds(0.5)}`)
await row('1000 plays up to the middle, by time', () => `limit=1000&to=${seconds(0.5)}`)
await live()

await edge.stop()
await registry.stop()
await connection.close()
await nats?.stop()

/** The starts of the first and the last play, unix seconds. */
async function fill(): Promise<[number, number]> {
  const { state } = await connection.jsm.streams.info('KV_channel')
  if (state.messages === 0) {
    const beganMs = performance.now()
    await load(connection, topology, { events, channels, stationkey, endMs: Date.now(), playSeconds })
    console.log(`filled in ${((performance.now() - beganMs) / 1000).toFixed(0)} s`)
  }
  const { messages, bytes } = (await connection.jsm.streams.info('KV_channel')).state
  console.log(`${messages} values of ${channels} channels, ${(bytes / 1e6).toFixed(0)} MB before compression`)
  return [await startOf(1), await startOf(events)]
}

async function startOf(sequence: number): Promise<number> {
  const message = await connection.jsm.streams.getMessage('KV_channel', { seq: sequence })
  return JSON.parse(message?.string() ?? '').now.start_timestamp
}

/** Makes the next channel's history public, and returns its key. */
async function publicChannel(key = loadedKey((channel++ * 37) % channels)): Promise<string> {
  const facts = { timezone: null, cover: '', holdSeconds: 30, fallback: null, announceNext: true }
  const entry: Channel = { key, station: stationkey, name: key, ...facts, history: 'public' }
  await registry.putChannel(entry)
  return key
}

async function ask(key: string, query: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${edge.port}/metadata/channel/${key}/history.json?${query}`)
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as unknown[]).length
}

async function row(name: string, query: () => string, again = false): Promise<void> {
  const times: number[] = []
  let rows = 0
  for (let round = 0; round < rounds; round++) {
    const key = await publicChannel()
    if (again) await ask(key, query())
    const beganMs = performance.now()
    rows += await ask(key, query())
    times.push(performance.now() - beganMs)
  }
  print(name, rows / rounds, times)
}

function print(name: string, rows: number, times: number[]): void {
  const sorted = times.sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const max = sorted.at(-1) ?? Number.NaN
  console.log(
    `${name.padEnd(44)}${rows.toFixed(0).padStart(6)}${median.toFixed(1).padStart(9)}${max.toFixed(1).padStart(9)}`,
  )
}

/** From a value's append to the frame at a player, while nobody reads the history, and while eight do without pause. */
async function live(): Promise<void> {
  const key = await publicChannel('bench_live')
  const some = await connection.jsm.streams.getMessage('KV_channel', { seq: 1 })
  const json = some?.string() ?? ''
  await connection.js.publish(`$KV.channel.${key}`, json)
  const socket = new WebSocket(`ws://127.0.0.1:${edge.port}/metadata/channel/${key}`)
  let arrived: (() => void) | undefined
  socket.on('message', () => arrived?.())
  await new Promise<void>(resolve => {
    arrived = resolve
  })
  const frame = (connection: LogConnection) =>
    new Promise<void>((resolve, reject) => {
      arrived = resolve
      connection.js.publish(`$KV.channel.${key}`, json).catch(reject)
    })
  const measure = async (name: string) => {
    const times: number[] = []
    for (let frames = 0; frames < 200; frames++) {
      const beganMs = performance.now()
      await frame(connection)
      times.push(performance.now() - beganMs)
    }
    print(name, 1, times)
  }
  await measure('append to frame, no history read')
  let reading = true
  const readers = Array.from({ length: 8 }, async () => {
    while (reading) await ask(await publicChannel(), 'limit=1000')
  })
  await measure('append to frame, eight read the history')
  reading = false
  await Promise.all(readers)
  socket.close()
}
