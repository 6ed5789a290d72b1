// One channel's new record to thousands of WebSockets.
import { Generator, type Phase } from '../harness/generator.ts'
import { alternate, type Compared, medianOf } from '../harness/measure.ts'
import { type Server, startReference, startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld, keyOf, natsMessage, newSong, postMessage, type World } from '../harness/seed.ts'

const sizes = [
  { clients: 1_000, cpu: 1.1 },
  { clients: 5_000, cpu: 1.05 },
  { clients: 9_000, cpu: 1.05 },
]
const pairs = 2
const rounds = 6
const warmup = 300
const measured = 30
/** Its turn again after the other's: messages that do not count. */
const again = 10

export const fanOut: Scenario = {
  name: 'fan-out',
  title: 'Fan-out of one channel',
  about:
    'Each message is sent once everybody has the last one: 300 of warm-up, then 30 that count, six times, with two pairs of fresh servers. The edge gets a value ' +
    'from NATS and serves real records; the bare server (`bench/references/bare-uws.ts`) publishes what is posted to it.',
  async run(report) {
    const world = await createWorld({ channels: 1 })
    for (const { clients, cpu } of sizes) {
      const a: Phase[] = []
      const b: Phase[] = []
      for (let pair = 0; pair < pairs; pair++) {
        const taken = await comparePair(world, clients, pair % 2 === 0)
        a.push(...taken.a)
        b.push(...taken.b)
      }
      const perMillion = (phases: Phase[]) => medianOf(phases, p => (p.serverCpu / p.delivered) * 1e6)
      const last = (phases: Phase[]) => medianOf(phases, p => p.lastMedian)
      const n = clients.toLocaleString('en')
      report(
        atMost(
          `CPU per million deliveries, ${n} clients`,
          perMillion(a) / perMillion(b),
          cpu,
          `${figure(perMillion(a))} s against ${figure(perMillion(b))} s of bare uWebSockets.js`,
        ),
      )
      report(
        atMost(
          `publish to last delivery, ${n} clients`,
          last(a) / last(b),
          1.1,
          `${figure(last(a))} ms against ${figure(last(b))} ms`,
        ),
      )
      report(told(`the generator's own share of its core, ${n} clients`, share(a)))
    }
    await world.stop()
  },
}

/** With both servers started anew: where their sockets lie in memory is decided as their clients connect. */
async function comparePair(world: World, clients: number, isEdgeFirst: boolean): Promise<Compared<Phase>> {
  const value = newSong(0, 1, world.topology, 2)
  const edge = await startService('edge', world.nats.url)
  const bare = await startReference('bare-uws')
  const connectEdge = () =>
    audience(edge, `/metadata/channel/${keyOf(0)}`, clients, natsMessage(0, value), world.address)
  const connectBare = () => audience(bare, '/t', clients, postMessage(value, '/t'))
  let [ours, theirs] = isEdgeFirst ? [await connectEdge(), undefined] : [undefined, await connectBare()]
  ours ??= await connectEdge()
  theirs ??= await connectBare()
  const phases = await alternate(rounds, ours.measure, theirs.measure)
  ours.stop()
  theirs.stop()
  await edge.stop()
  await bare.stop()
  return phases
}

/** Connects an audience to a server and warms it up; `measure` takes one figure. */
export async function audience(
  server: Server,
  path: string,
  count: number,
  message: Buffer,
  natsAddress?: string,
): Promise<{ measure(): Promise<Phase>; stop(): void }> {
  const generator = new Generator()
  await generator.server(server.pid)
  const { failed } = await generator.connect({ address: server.address, path, count })
  if (failed > 0) throw new Error(`${failed} clients could not connect to ${path}`)
  await generator.messages([message])
  const open = () =>
    generator.wires(natsAddress ?? server.address, natsAddress === undefined ? 'http' : 'nats')
  await open()
  await generator.lock(warmup)
  return {
    async measure() {
      // An idle one was closed meanwhile.
      await open()
      await generator.lock(again)
      const phase = await generator.lock(measured)
      if (phase.delivered !== phase.expected)
        throw new Error(`${phase.delivered} of ${phase.expected} deliveries on ${path}`)
      return phase
    },
    stop: () => generator.stop(),
  }
}

function share(phases: Phase[]): string {
  return `${Math.round(medianOf(phases, p => p.ownCpu / p.seconds) * 100)} %`
}
