// Clients that never read, among others that do.
import { Generator, type Phase } from '../harness/generator.ts'
import { median, medianOf } from '../harness/measure.ts'
import { type ServiceServer, startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario } from '../harness/rows.ts'
import { createWorld, keyOf, natsMessage, newSong } from '../harness/seed.ts'

const reading = 900
const slow = 100
const perSecond = 100
const messages = 1_500
const rounds = 3
/** NOWNEXT_SOCKET_QUEUE, its default. */
const queueBytes = 262_144
/** The library's buffer is copied when it grows, so it and half of it again are there for a moment. */
const growth = 1.5

export const slowReaders: Scenario = {
  name: 'slow',
  title: 'Clients that do not read',
  about:
    '900 WebSockets that read, with and without 100 more that never do; 100 messages a second for 15 s, so that each of ' +
    'the slow passes its queue of 256 KiB and the buffers of the kernel. A fresh edge each time.',
  async run(report) {
    const world = await createWorld({ channels: 1 })
    const value = natsMessage(0, newSong(0, 1, world.topology, 2))
    const without: Run[] = []
    const among: Run[] = []
    for (let round = 0; round < rounds; round++) {
      without.push(await run(await startService('edge', world.nats.url), world.address, value, false))
      among.push(await run(await startService('edge', world.nats.url), world.address, value, true))
    }
    const p99 = (runs: Run[]) => medianOf(runs, ({ phase }) => phase.p99)
    const times = `${figure(p99(among))} ms against ${figure(p99(without))} ms`
    report(atMost("the others' 99th percentile, of that without", p99(among) / p99(without), 2, times))
    const grown = (runs: Run[]) => medianOf(runs, ({ grownBytes }) => grownBytes)
    const bytes = Math.max(0, grown(among) - grown(without)) / slow
    const bound = `the highest over the run; the queue of a client may hold ${queueBytes / 1024} KiB, and is copied as it grows`
    report(atMost('memory per slow client', bytes / 1024, (growth * queueBytes) / 1024, bound, 'KiB'))
    const closed = median(among.map(run => run.closed))
    report({
      what: 'slow clients closed and counted',
      asked: `${slow}`,
      reached: `${closed}`,
      holds: closed === slow,
      from: 'nownext_edge_closed_total{reason="slow"}; nobody else was closed',
    })
    await world.stop()
  },
}

type Run = { phase: Phase; grownBytes: number; closed: number }

async function run(
  edge: ServiceServer,
  natsAddress: string,
  message: Buffer,
  withSlow: boolean,
): Promise<Run> {
  const generator = new Generator()
  await generator.server(edge.pid)
  const count = withSlow ? reading + slow : reading
  const slowEvery = withSlow ? (reading + slow) / slow : 0
  await generator.connect({ address: edge.address, path: `/metadata/channel/${keyOf(0)}`, count, slowEvery })
  await generator.messages([message])
  await generator.wires(natsAddress, 'nats')
  await edge.collect()
  const before = edge.memory().rss
  const phase = await generator.rate(messages, perSecond)
  const grownBytes = (edge.memory().peak - before) * 1024
  if (phase.delivered !== phase.expected) throw new Error('deliveries to those who read are missing')
  const metrics = await (await fetch(`${edge.addresses.ops_url}/metrics`)).text()
  const closed = Number(/^nownext_edge_closed_total\{reason="slow"\} (\d+)/m.exec(metrics)?.[1] ?? 0)
  generator.stop()
  await edge.stop()
  return { phase, grownBytes, closed }
}
