// Two edges on two cores against one on one.
import { readFileSync } from 'node:fs'
import { readValue } from '../../src/domain/value.ts'
import { bothCores, pin } from '../harness/cores.ts'
import { Generator, type Phase } from '../harness/generator.ts'
import { medianOf } from '../harness/measure.ts'
import { startService } from '../harness/processes.ts'
import { atLeast, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld, keyOf, natsMessage, newSong } from '../harness/seed.ts'

const clients = 6_000
const messages = 60
const rounds = 5

export const edges: Scenario = {
  name: 'edges',
  title: 'Two edges on two cores',
  about:
    '`--edges 1` and `--edges 2`, each edge process pinned to a core of its own; 6,000 WebSockets, 60 messages at once. ' +
    'With two cores none is left for a generator, so it sleeps: the time is that from the first publish until every ' +
    "client's socket holds all of it, unread.",
  async run(report) {
    const world = await createWorld({ channels: 1 }, { core: bothCores })
    const one = await spread(world, 1)
    const two = await spread(world, 2)
    const seconds = (phases: Phase[]) => medianOf(phases, p => p.seconds)
    const rate = (phases: Phase[]) => figure((clients * messages) / seconds(phases))
    report(
      atLeast(
        'deliveries a second of two, of those of one',
        seconds(one) / seconds(two),
        1.7,
        `${rate(two)} against ${rate(one)}`,
      ),
    )
    const cpu = (phases: Phase[]) => figure(medianOf(phases, p => p.serverCpu / (clients * messages)) * 1e6)
    report(
      told('CPU per delivery', `${cpu(two)} µs with two, ${cpu(one)} µs with one`, 'of the edge processes'),
    )
    await world.stop()
  },
}

async function spread(world: Awaited<ReturnType<typeof createWorld>>, count: number): Promise<Phase[]> {
  const service = await startService('edge', world.nats.url, {
    core: bothCores,
    args: ['--edges', `${count}`],
  })
  const children = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8')
  const processes = count === 1 ? [service.pid] : children.trim().split(' ').map(Number)
  for (const [core, pid] of processes.entries()) pin(pid, `${core}`)
  const value = newSong(0, 1, world.topology, 2)
  const generator = new Generator(bothCores)
  await generator.server(...processes)
  const path = `/metadata/channel/${keyOf(0)}`
  await generator.connect({ address: service.address, path, count: clients })
  await generator.messages([natsMessage(0, value)])
  await generator.wires(world.address, 'nats')
  await generator.lock(300)
  // A frame of this length has a head of 4 bytes.
  const frameBytes = Buffer.byteLength(readValue(value).nowJson ?? '') + 4
  const phases: Phase[] = []
  for (let round = 0; round < rounds; round++) {
    const phase = await generator.burst(messages, frameBytes * messages)
    if (phase.phase !== 'burst') throw new Error('the burst did not arrive')
    phases.push(phase)
  }
  generator.stop()
  await service.stop()
  return phases
}
