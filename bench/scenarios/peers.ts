// Against what else one would take: Nchan and nginx, and the package ws.
import type { Phase } from '../harness/generator.ts'
import { alternate, medianOf } from '../harness/measure.ts'
import { findNginx, startNginx } from '../harness/nginx.ts'
import { type Server, startReference, startService } from '../harness/processes.ts'
import { atLeast, figure, type Row, type Scenario } from '../harness/rows.ts'
import {
  createWorld,
  getMessage,
  keyOf,
  natsMessage,
  newSong,
  postMessage,
  type World,
} from '../harness/seed.ts'
import { audience } from './fan-out.ts'
import { poller } from './polls.ts'

const sizes = [1_000, 5_000, 9_000]
const rounds = 7

export const peers: Scenario = {
  name: 'peers',
  title: 'Peers',
  about:
    'The same generator, messages and core. Nchan: one worker of nginx, `nchan_pubsub`, one message buffered. `ws`: the ' +
    'Node package of that name, sending to all its clients. nginx: a static file of the bytes of a .json poll.',
  async run(report) {
    const world = await createWorld({ channels: 1 })
    const nginx = findNginx()
    for (const clients of sizes) {
      if (nginx !== undefined) await compare(report, world, clients, 'Nchan', () => startNginx(nginx, {}))
      await compare(report, world, clients, 'ws', () => startReference('node-ws'))
    }
    if (nginx !== undefined) {
      const edge = await startService('edge', world.nats.url)
      const path = `/metadata/channel/${keyOf(0)}.json`
      const text = await (await fetch(`http://${edge.address}${path}`)).text()
      const files = await startNginx(nginx, { 'record.json': text })
      const ours = await poller(edge, getMessage(path))
      const theirs = await poller(files, getMessage('/files/record.json'))
      const { a, b } = await alternate(5, ours.measure, theirs.measure)
      const rate = (phases: Phase[]) => medianOf(phases, p => p.answers / p.seconds)
      const from = `${figure(rate(a))} a second against ${figure(rate(b))} of ${nginx.version}`
      report(atLeast('polls of .json, of those of a static file of nginx', rate(a) / rate(b), 1, from))
      ours.stop()
      theirs.stop()
      await edge.stop()
      await files.stop()
    }
    await world.stop()
  },
}

async function compare(
  report: (row: Row) => void,
  world: World,
  clients: number,
  name: string,
  start: () => Promise<Server>,
): Promise<void> {
  const value = newSong(0, 1, world.topology, 2)
  const edge = await startService('edge', world.nats.url)
  const peer = await start()
  const path = `/metadata/channel/${keyOf(0)}`
  const ours = await audience(edge, path, clients, natsMessage(0, value), world.address)
  const theirs = await audience(peer, '/t', clients, postMessage(value, '/t'))
  const { a, b } = await alternate(rounds, ours.measure, theirs.measure)
  const cpu = (phases: Phase[]) => medianOf(phases, p => (p.serverCpu / p.delivered) * 1e6)
  const last = (phases: Phase[]) => medianOf(phases, p => p.lastMedian)
  const who = `${name}, ${clients.toLocaleString('en')} clients`
  const seconds = `${figure(cpu(b))} s per million deliveries against ${figure(cpu(a))} s here`
  report(atLeast(`${who}: its CPU, of ours`, cpu(b) / cpu(a), 1, seconds))
  const ms = `${figure(last(b))} ms against ${figure(last(a))} ms here`
  report(atLeast(`${who}: its time to the last delivery, of ours`, last(b) / last(a), 1, ms))
  ours.stop()
  theirs.stop()
  await edge.stop()
  await peer.stop()
}
