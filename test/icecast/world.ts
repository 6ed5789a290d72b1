// All the way of a title: intake, projector and icecast on a real log, and a real Icecast with its sources.
import { PassThrough } from 'node:stream'
import type { Fallback } from '../../src/domain/event.ts'
import type { Mount, MountState } from '../../src/domain/mount.ts'
import { plainChannel } from '../../src/domain/registry.ts'
import { Edge } from '../../src/edge/edge.ts'
import { Icecast } from '../../src/icecast/icecast.ts'
import { Intake } from '../../src/intake/intake.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { Listeners } from '../../src/log/listeners.ts'
import { Mounts } from '../../src/log/mounts.ts'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { Projector } from '../../src/projector/projector.ts'
import { startIcecast, type TestMount } from '../helpers/icecast.ts'
import { openLog } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'

export type World = Awaited<ReturnType<typeof startWorld>>

const token = 'push-token-of-every-channel-here'

/** `testMounts` may be made of the address of a channel's listener hooks. */
export async function startWorld(
  testMounts: TestMount[] | ((hooks: (channelkey: string) => string) => TestMount[]),
) {
  const nats = await startNats()
  const { connection, topology } = await openLog(nats.url)
  const printed: string[] = []
  const sink = new PassThrough()
  sink.on('data', chunk => printed.push(String(chunk)))
  const log = createLog('debug', sink)
  const metrics = createMetrics()
  const registry = new Registry(connection)
  const tokens = new Tokens(connection)
  const mounts = new Mounts(connection)
  const events = new EventLog(connection, metrics)
  const listeners = new Listeners(connection)
  await Promise.all([registry.start(), tokens.start(), mounts.start()])
  await registry.putStation({ key: 'radio', name: 'Radio', timezone: 'Europe/Berlin' })
  const projector = new Projector({ connection, topology, log, metrics })
  const config = { host: '127.0.0.1', intakePort: 0, pushRate: 1000, tlsCert: undefined, tlsKey: undefined }
  const intake = new Intake({ config, events, registry, tokens, listeners, log, metrics })
  const newRole = () => new Icecast({ connection, mounts, log, metrics })
  let role = newRole()
  const tls = { tlsCert: undefined, tlsKey: undefined }
  const edgeConfig = {
    host: '127.0.0.1',
    edgePort: 0,
    drain: 0,
    maxSockets: undefined,
    socketQueue: 262_144,
    ...tls,
  }
  const edge = new Edge({ config: edgeConfig, connection, topology, registry, log, metrics })
  await Promise.all([projector.start(), intake.start(), role.start(), edge.start()])
  const hooks = (channelkey: string) => `http://127.0.0.1:${intake.port}/icecast/${channelkey}/${token}`
  const icecast = await startIcecast(typeof testMounts === 'function' ? testMounts(hooks) : testMounts)
  return {
    icecast,
    listeners,
    /** Where players of a metaid connect. */
    playerUrl: (metaid: string) => `ws://127.0.0.1:${edge.port}/metadata/listener/${metaid}`,
    mounts,
    metrics,
    /** All that was logged. */
    printed: () => printed.join(''),
    /** A channel whose title goes to these mounts. */
    async channel(key: string, channelMounts: Mount[], fallback: Fallback | null = null): Promise<void> {
      await registry.putChannel({ ...plainChannel(key, 'radio', key), fallback })
      await tokens.add(key, token, 'test')
      await mounts.put(key, channelMounts)
    },
    /** How a mount of the test's Icecast is set up at a channel. */
    at(name: string, more: Partial<Mount> = {}): Mount {
      const { user, password } = icecast.mount(name)
      return { url: icecast.url, mount: name, user, password, charset: 'UTF-8', ...more }
    },
    /** Pushes by GET; `query` is sent as it is. */
    async push(key: string, query: string): Promise<void> {
      const response = await fetch(`http://127.0.0.1:${intake.port}/metapush/${key}/${token}?${query}`)
      if (!response.ok) throw new Error(`push: ${response.status} ${await response.text()}`)
    },
    state: (key: string, name: string): MountState | undefined =>
      mounts.states(key).find(({ mount }) => mount === name),
    /** The role ends and another one begins. */
    async restartRole(): Promise<void> {
      await role.stop()
      role = newRole()
      await role.start()
    },
    async stop(): Promise<void> {
      for (const service of [edge, intake, role, projector]) {
        await service.drain()
        await service.stop()
      }
      await icecast.stop()
      await Promise.all([registry.stop(), tokens.stop(), mounts.stop()])
      await connection.close()
      await nats.stop()
    },
  }
}
