// Thousands of WebSockets at once, each with its snapshot; and what an idle one takes.
import { type Connected, Generator } from '../harness/generator.ts'
import { alternate, medianOf } from '../harness/measure.ts'
import { type Server, startReference, startService } from '../harness/processes.ts'
import { atLeast, atMost, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld, keyOf } from '../harness/seed.ts'

const rounds = 9
const warmRounds = 3
const clients = 9_000
const memoryRounds = 3
/** What is left to do for clients that have gone. */
const restMs = 500
/** Else the young generation of both grows by megabytes whenever it likes. */
const node = ['--max-semi-space-size=1']

export const connects: Scenario = {
  name: 'connects',
  title: 'Connecting, and idle WebSockets',
  about:
    '9,000 WebSockets, 400 outstanding; one counts as connected when its snapshot has come (now and next; the bare ' +
    'server sends the same bytes). Each server has taken as many three times before it counts. Memory: resident, with garbage ' +
    'collected before and after, a fresh process each time, its young generation held at 1 MB.',
  async run(report) {
    const world = await createWorld({ channels: 100 })
    const path = `/metadata/channel/${keyOf(0)}`
    const edge = await startService('edge', world.nats.url)
    const snapshot = await snapshotOf(edge, `${path}.json?type=all`)
    const bare = await startReference('bare-uws', { snapshot })
    const ours = () => connectAll(edge, path)
    const theirs = () => connectAll(bare, path)
    await alternate(warmRounds, ours, theirs)
    const { a, b } = await alternate(rounds, ours, theirs)
    const rate = (runs: Connected[]) => medianOf(runs, run => clients / run.seconds)
    report(
      atLeast(
        'connects a second',
        rate(a) / rate(b),
        0.9,
        `${figure(rate(a))} against ${figure(rate(b))} of bare uWebSockets.js`,
      ),
    )
    const cpu = (runs: Connected[]) => `${figure(medianOf(runs, run => (run.serverCpu / clients) * 1e6))} µs`
    const share = (runs: Connected[]) =>
      `${Math.round(medianOf(runs, run => run.ownCpu / run.seconds) * 100)} %`
    const own = `the generator's share of its core ${share(a)}, with the bare server ${share(b)}`
    report(told('CPU per connection', cpu(a), `bare: ${cpu(b)}; ${own}`))
    await edge.stop()
    await bare.stop()
    const idle = await alternate(
      memoryRounds,
      async () => idleBytes(await startService('edge', world.nats.url, { node }), path),
      async () => idleBytes(await startReference('bare-uws', { snapshot }, node), path),
    )
    const of = (list: number[]) => medianOf(list, bytes => bytes)
    report(
      atMost(
        'memory per idle WebSocket over bare uWebSockets.js',
        (of(idle.a) - of(idle.b)) / 1024,
        1,
        `${figure(of(idle.a) / 1024)} KB against ${figure(of(idle.b) / 1024)} KB`,
        'KB',
      ),
    )
    await world.stop()
  },
}

/** The two records in the order of a snapshot. */
async function snapshotOf({ address }: Server, path: string): Promise<string[]> {
  const records = (await (await fetch(`http://${address}${path}`)).json()) as object[]
  return records.reverse().map(record => JSON.stringify(record))
}

async function connectAll(server: Server, path: string): Promise<Connected> {
  const generator = new Generator()
  await generator.server(server.pid)
  const connected = await generator.connect({
    address: server.address,
    path,
    count: clients,
    snapshot: true,
  })
  if (connected.failed > 0) throw new Error(`${connected.failed} clients could not connect`)
  await generator.disconnect()
  generator.stop()
  // No collecting of garbage in between: that throws compiled code away whose objects have gone, and the next round
  // would measure the compiler.
  await new Promise(resolve => setTimeout(resolve, restMs))
  return connected
}

async function idleBytes(server: Server, path: string): Promise<number> {
  const generator = new Generator()
  const plan = { address: server.address, path, snapshot: true }
  await generator.connect({ ...plan, count: 500 })
  await server.collect()
  const before = server.memory().rss
  await generator.connect({ ...plan, count: clients })
  await server.collect()
  const after = server.memory().rss
  generator.stop()
  await server.stop()
  return ((after - before) * 1024) / clients
}
