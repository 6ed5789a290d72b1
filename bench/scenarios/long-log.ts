// A log of a year: a rebuild and an export of it, pages of its history, and what live delivery notices of each.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { connectLog } from '../../src/log/connection.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { bothCores } from '../harness/cores.ts'
import { Live } from '../harness/live.ts'
import { load, loadedKey } from '../harness/load.ts'
import { medianOf } from '../harness/measure.ts'
import { type ServiceServer, startService } from '../harness/processes.ts'
import { atMost, figure, type Row, type Scenario, told } from '../harness/rows.ts'
import { createWorld, type World } from '../harness/seed.ts'

const events = 1_000_000
const channels = 10_000
const playSeconds = 200
const aloneSeconds = 20
const pages = 20
const readers = 8
const stationkey = 'load'
const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export const longLog: Scenario = {
  name: 'long-log',
  title: 'A long log',
  about:
    '1,000,000 events over 10,000 channels in both logs; all roles in one process and NATS, on both cores. The reference ' +
    'of a rebuild: the same reads without folding anything. Push to frame: 20 pushes a second to one channel, from ' +
    'sending the request to reading the frame. A page of the history is of a channel that was not asked for before.',
  async run(report) {
    const world = await createWorld({ channels: 0 }, { core: bothCores })
    const { connection, topology } = world
    await load(connection, topology, { events, channels, stationkey, endMs: Date.now(), playSeconds })
    const service = await startService('intake,projector,edge,console', world.nats.url, { core: bothCores })
    const folder = mkdtempSync(join(tmpdir(), 'nownext-bench-export-'))
    try {
      await folded(world)
      const live = await Live.start(service, stationkey)
      const alone = await live.during(new Promise(resolve => setTimeout(resolve, aloneSeconds * 1000)))
      report(told('push to frame, alone', ...alone))
      await history(report, service, live)
      await rebuild(report, world, service, live)
      const exporting = timed(command(world, 'export', '--output', join(folder, 'export.ndjson')))
      report(told('push to frame, with an export', ...(await live.during(exporting))))
      report(
        told('export', `${figure(await exporting)} s`, `${events.toLocaleString('en')} events as NDJSON`),
      )
      live.stop()
    } finally {
      rmSync(folder, { recursive: true })
      await service.stop()
      await world.stop()
    }
  },
}

async function rebuild(
  report: (row: Row) => void,
  world: World,
  service: ServiceServer,
  live: Live,
): Promise<void> {
  const plain = await timed(replayByConsumer(world.nats.url))
  const raw = await timed(replayByReads(world.nats.url))
  const before = service.memory().rss
  let most = 0
  const sampling = setInterval(() => {
    most = Math.max(most, service.memory().rss)
  }, 100)
  const rebuilding = timed(command(world, 'rebuild'))
  const seen = await live.during(rebuilding)
  clearInterval(sampling)
  const seconds = await rebuilding
  const from = `${figure(seconds)} s against ${figure(raw)} s; a plain consumer takes ${figure(plain)} s`
  report(atMost('rebuild, of a raw replay', seconds / raw, 2, from))
  const megabytes = (kib: number) => `${figure(Math.round(kib / 1024))} MB`
  report(told('memory with a rebuild', `${megabytes(most)} at most`, `${megabytes(before)} before it`))
  report(told('push to frame, with a rebuild', ...seen))
}

/** A replay by the client's own ordered consumer; the messages are counted, no more. */
async function replayByConsumer(url: string): Promise<void> {
  const nc = await connect({ servers: url })
  const consumer = await jetstream(nc).consumers.get('EVENTS')
  const messages = await consumer.consume({ max_messages: 5_000 })
  let count = 0
  for await (const _ of messages) if (++count === events) break
  await nc.close()
}

async function replayByReads(url: string): Promise<void> {
  const connection = await connectLog({ url }, 'bench replay', createLog('silent'), null)
  const log = new EventLog(connection, createMetrics())
  let count = 0
  for await (const _ of log.readRaw(1, events)) count++
  await connection.close()
  if (count !== events) throw new Error(`${count} events of ${events} were read`)
}

async function history(report: (row: Row) => void, service: ServiceServer, live: Live): Promise<void> {
  const edge = service.addresses.api_url ?? ''
  let next = 0
  const page = async (query: string): Promise<number> => {
    const key = loadedKey((next++ * 37) % channels)
    await live.put(`/channels/${key}`, { station: stationkey, name: key, history: 'public' })
    const startedMs = performance.now()
    const answer = await fetch(`${edge}/metadata/channel/${key}/history.json?${query}`)
    const plays = ((await answer.json()) as unknown[]).length
    if (!answer.ok || plays === 0) throw new Error(`${query}: ${answer.status}, ${plays} plays`)
    return performance.now() - startedMs
  }
  const span = (events / channels) * playSeconds
  const first = Math.round(Date.now() / 1000 - span)
  const asked: [what: string, query: string][] = [
    ['the newest 20 plays', 'limit=20'],
    ['the first 20 plays of the log', `limit=20&to=${Math.round(first + span * 0.2)}`],
    ['20 plays in the middle', `limit=20&to=${Math.round(first + span * 0.5)}`],
    ['1,000 plays up to the end', 'limit=1000'],
  ]
  for (const [what, query] of asked) {
    const took: number[] = []
    for (let round = 0; round < pages; round++) took.push(await page(query))
    const most = `${pages} channels, most ${figure(Math.max(...took))} ms`
    report(told(`history, ${what}`, `${figure(medianOf(took, ms => ms))} ms`, most))
  }
  let reading = true
  const reads = Array.from({ length: readers }, async () => {
    while (reading) await page('limit=1000')
  })
  const seen = await live.during(new Promise(resolve => setTimeout(resolve, aloneSeconds * 1000)))
  reading = false
  await Promise.all(reads)
  report(told(`push to frame, ${readers} read the history`, ...seen))
}

/** Resolves when the projector has folded what the log held at its start. */
async function folded({ connection }: World): Promise<void> {
  while ((await connection.jsm.consumers.info('EVENTS', 'projector')).num_pending > 0)
    await new Promise(resolve => setTimeout(resolve, 200))
}

async function command({ nats }: World, ...args: string[]): Promise<void> {
  const env = { ...process.env, NOWNEXT_NATS_URL: nats.url }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [status] = await once(child, 'close')
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}`)
}

/** Seconds. */
async function timed(work: Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work
  return (performance.now() - startedMs) / 1000
}
