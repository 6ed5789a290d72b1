// What is done to the cluster. Each resolves, when the fault is over and mended, to what it hit.
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Cluster } from '../../deploy/local/cluster.ts'
import type { LocalProcess } from '../../deploy/local/process.ts'
import type { Random } from './random.ts'

export type World = { cluster: Cluster; nc: NatsConnection; random: Random }

/** At most so many milliseconds, see docs/reliability.md. */
export type Targets = { deliveryMs?: number; acceptMs?: number; wholeMs?: number }

export type Fault = {
  name: string
  /** Part of the short run. */
  short?: true
  targets?: Targets
  /** An intake stands still in it, and answers nobody meanwhile. */
  mute?: true
  /** What of the machine it needs. */
  needs?: 'network' | 'disk'
  run(world: World): Promise<string>
}

/** How long something stays dead, stopped, cut off or full. */
const deadMs = 2_000
const frozenMs = 10_000
const shiftedMs = 5_000
const shiftClock = fileURLToPath(new URL('shift-clock.mjs', import.meta.url))

const natsTargets = { acceptMs: 9_000 }
const projectorTargets = { deliveryMs: 3_000 }
const edgeTargets = { wholeMs: 5_000 }

export const faults: readonly Fault[] = [
  ...['nats1', 'nats2', 'nats3'].flatMap(name => [
    natsFault(`${name} killed`, name, kill, natsTargets),
    natsFault(`${name} stopped for 10 s`, name, freeze),
    natsFault(`${name} restarted`, name, restart),
  ]),
  {
    name: 'the leader of EVENTS killed',
    short: true,
    targets: natsTargets,
    run: async world => await onLeader(world, 'EVENTS', kill),
  },
  {
    name: 'the leader of channel stopped for 10 s',
    run: async world => await onLeader(world, 'KV_channel', freeze),
  },
  {
    name: 'the active projector killed',
    short: true,
    targets: projectorTargets,
    run: async world => await hit(world, await activeProjector(world), kill),
  },
  {
    name: 'the active projector stopped for 10 s',
    short: true,
    targets: projectorTargets,
    run: async world => await hit(world, await activeProjector(world), freeze),
  },
  {
    name: 'the active projector restarted',
    targets: projectorTargets,
    run: async world => await hit(world, await activeProjector(world), restart),
  },
  { name: 'an intake killed', short: true, run: world => hit(world, pick(world, 'intake'), kill) },
  { name: 'an intake stopped for 10 s', mute: true, run: world => hit(world, pick(world, 'intake'), freeze) },
  { name: 'an intake restarted', run: world => hit(world, pick(world, 'intake'), restart) },
  {
    name: 'an edge killed',
    short: true,
    targets: edgeTargets,
    run: async world => await hit(world, await busiestEdge(world), kill),
  },
  {
    name: 'an edge stopped for 10 s',
    run: async world => await hit(world, await busiestEdge(world), freeze),
  },
  {
    name: 'an edge restarted',
    targets: edgeTargets,
    run: async world => await hit(world, await busiestEdge(world), restart),
  },
  { name: 'a nats-server cut off for 10 s', short: true, needs: 'network', run: cutOff },
  { name: 'the disks of the log full for 10 s', short: true, needs: 'disk', run: fillDisks },
  ...['intake', 'projector', 'edge'].map(role => ({
    name: `the clock of one ${role} an hour off`,
    run: (world: World) => hit(world, pick(world, role), shiftTheClock),
  })),
  { name: 'everything restarted, one after the other', run: rollingRestart },
]

type Blow = (process: LocalProcess) => Promise<void>

async function kill(process: LocalProcess): Promise<void> {
  await process.kill()
  await wait(deadMs)
  await process.start()
}

async function freeze(process: LocalProcess): Promise<void> {
  process.signal('SIGSTOP')
  await wait(frozenMs)
  process.signal('SIGCONT')
}

async function restart(process: LocalProcess): Promise<void> {
  await process.stop()
  await process.start()
}

async function shiftTheClock(process: LocalProcess): Promise<void> {
  process.extraEnv = { NODE_OPTIONS: `--import ${shiftClock}` }
  await restart(process)
  await wait(shiftedMs)
  process.extraEnv = {}
  await restart(process)
}

function natsFault(name: string, process: string, blow: Blow, targets?: Targets): Fault {
  return {
    name,
    ...(targets === undefined ? {} : { targets }),
    async run(world) {
      const led = await leads(world, process)
      await blow(world.cluster.process(process))
      return led.length === 0 ? 'it led no stream' : `it led ${led.join(', ')}`
    },
  }
}

async function hit({ cluster }: World, name: string, blow: Blow): Promise<string> {
  await blow(cluster.process(name))
  return name
}

async function onLeader(world: World, stream: string, blow: Blow): Promise<string> {
  const jsm = await jetstreamManager(world.nc)
  const leader = (await jsm.streams.info(stream)).cluster?.leader ?? ''
  const led = await leads(world, leader)
  await blow(world.cluster.process(leader))
  return `${leader}, which led ${led.join(', ')}`
}

/** The streams that a nats-server leads. */
async function leads({ nc }: World, name: string): Promise<string[]> {
  const jsm = await jetstreamManager(nc)
  const streams = await jsm.streams.list().next()
  return streams.filter(({ cluster }) => cluster?.leader === name).map(({ config }) => config.name)
}

function pick({ random }: World, role: string): string {
  return `${role}${random() < 0.5 ? 1 : 2}`
}

/** After an edge was restarted all clients may be on the other. */
async function busiestEdge({ cluster }: World): Promise<string> {
  const [first = 0, second = 0] = await Promise.all(
    ['edge1', 'edge2'].map(name => cluster.metric(name, 'nownext_edge_sockets')),
  )
  return first >= second ? 'edge1' : 'edge2'
}

async function activeProjector({ cluster }: World): Promise<string> {
  for (const endMs = Date.now() + 30_000; Date.now() < endMs; await wait(100)) {
    for (const name of ['projector1', 'projector2'])
      if ((await cluster.metric(name, 'nownext_projector_active')) === 1) return name
  }
  throw new Error('no projector is active')
}

async function cutOff({ cluster, random }: World): Promise<string> {
  const index = Math.floor(random() * cluster.nats.length)
  cluster.network.cutOff(index)
  await wait(frozenMs)
  cluster.network.heal(index)
  return `nats${index + 1}`
}

async function fillDisks({ cluster }: World): Promise<string> {
  await Promise.all(cluster.nats.map(({ disk }) => disk.fill()))
  await wait(frozenMs)
  for (const { disk } of cluster.nats) disk.free()
  return 'all three'
}

/** As an upgrade does it: the next one once the one before is ready. */
async function rollingRestart({ cluster }: World): Promise<string> {
  const processes = cluster.processes.filter(({ name }) => name !== 'haproxy')
  for (const process of processes) await restart(process)
  return `${processes.length} processes`
}
