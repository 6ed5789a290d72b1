// What do 100,000 listener sessions in the bucket cost an edge, and how long does a change of a channel take to its
// followed listeners?
//
//   node --import tsx bench/listeners.ts [--sessions 100000] [--followed 5000]
//
// Starts a nats-server, and an edge before and after the sessions are put into the bucket: start time, heap (with
// --expose-gc) and bytes from the log are compared. Then it opens sockets of some of them. Clients and all run in this
// process, so the times are upper bounds.
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'
import { makeRecord } from '../src/domain/record.ts'
import { plainChannel } from '../src/domain/registry.ts'
import { initialState } from '../src/domain/state.ts'
import { encodeValue } from '../src/domain/value.ts'
import { Edge } from '../src/edge/edge.ts'
import { ChannelBucket } from '../src/log/channel-bucket.ts'
import { connectLog } from '../src/log/connection.ts'
import { Listeners } from '../src/log/listeners.ts'
import { encodePosition } from '../src/log/position.ts'
import { Registry } from '../src/log/registry.ts'
import { ensureTopology } from '../src/log/topology.ts'
import { createLog } from '../src/observe/log.ts'
import { createMetrics } from '../src/observe/metrics.ts'
import { startNats } from '../test/helpers/nats.ts'

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '100000' },
    followed: { type: 'string', default: '5000' },
  },
})
const sessions = Number(values.sessions)
const followed = Number(values.followed)
const inFlight = 256

const nats = await startNats()
const log = createLog('silent')
const connect = () => connectLog({ url: nats.url }, 'bench', log, createMetrics())
const connection = await connect()
const topology = await ensureTopology(connection, { replicas: 1, retentionDays: 10 })
const registry = new Registry(connection)
await registry.start()
const listeners = new Listeners(connection)

report('edge, empty bucket', await startEdge())
const filledMs = await timed(() =>
  each(sessions, i =>
    listeners.change(
      `listener-${i}`,
      () => ({
        session: { channelkey: 'main', client: String(i), session: String(i), mount: '/live.mp3' },
        overlay: null,
      }),
      'nothing',
    ),
  ),
)
console.log(`${sessions} sessions stored in ${(filledMs / 1000).toFixed(1)} s`)
const full = await startEdge()
report(`edge, ${sessions} sessions`, full)

const sockets: WebSocket[] = []
let received = 0
const openedMs = await timed(() =>
  each(followed, async i => {
    const socket = new WebSocket(`ws://127.0.0.1:${full.edge.port}/metadata/listener/listener-${i}`)
    socket.on('message', () => received++)
    sockets.push(socket)
    await once(socket, 'open')
  }),
)
console.log(`${followed} of them open a WebSocket in ${(openedMs / 1000).toFixed(1)} s`)
const channel = new WebSocket(`ws://127.0.0.1:${full.edge.port}/metadata/channel/main`)
await registry.putChannel(plainChannel('main', 'demo'))
const bucket = new ChannelBucket(connection, 'bench')
for (let sequence = 1; sequence <= 5; sequence++) {
  const own = sequence === 1 ? Promise.resolve() : once(channel, 'message')
  received = 0
  const startMs = performance.now()
  await bucket.append({ channelkey: 'main', json: valueAt(sequence) }, sequence - 1)
  await own
  const ownMs = performance.now() - startMs
  while (received < followed) await new Promise(resolve => setTimeout(resolve, 1))
  const allMs = performance.now() - startMs
  console.log(
    `change ${sequence}: its own socket ${ownMs.toFixed(0)} ms, all ${followed} listeners ${allMs.toFixed(0)} ms`,
  )
}
process.exit()

/** Started on a connection of its own; it runs until the process ends. */
async function startEdge() {
  const own = await connect()
  globalThis.gc?.()
  const heapBefore = process.memoryUsage().heapUsed
  const edge = new Edge({
    config: {
      host: '127.0.0.1',
      edgePort: 0,
      drain: 0,
      maxSockets: undefined,
      socketQueue: 262_144,
      tlsCert: undefined,
      tlsKey: undefined,
    },
    connection: own,
    topology,
    registry,
    log,
    metrics: createMetrics(),
  })
  const startMs = await timed(() => edge.start())
  globalThis.gc?.()
  return {
    edge,
    startMs,
    heapBytes: process.memoryUsage().heapUsed - heapBefore,
    inBytes: own.nc.stats().inBytes,
  }
}

function report(name: string, { startMs, heapBytes, inBytes }: Awaited<ReturnType<typeof startEdge>>): void {
  const heap = `${(heapBytes / 1024).toFixed(0)} KiB of heap`
  console.log(`${name}: started in ${startMs.toFixed(0)} ms, ${heap}, ${inBytes} bytes from the log`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

async function each(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

function valueAt(sequence: number): string {
  const context = {
    revision: 1,
    stationkey: 'demo',
    station: 'Demo',
    channel: 'Main',
    timezone: 'UTC',
    cover: '',
    holdSeconds: 30,
    fallback: null,
    announceNext: true,
  }
  const element = {
    id: 'id',
    song: `Song ${sequence}`,
    artist: 'Artist',
    album: '',
    cover: '',
    images: null,
    separator: ' - ',
    isrc: '',
    duration: 180,
    etype: 0,
    extdata: null,
    externalid: null,
  }
  const now = makeRecord({
    channelkey: 'main',
    type: 'now',
    element,
    startMs: 0,
    context,
    source: 'metapush',
  })
  const at = (slot: 0 | 1) => encodePosition(topology.incarnation, { sequence, slot })
  return encodeValue(
    { state: initialState, now, next: null, send: ['now'], play: null, warnings: [], removed: false },
    { event: sequence, done: true, prev: 0 },
    { next: at(0), now: at(1) },
  )
}
