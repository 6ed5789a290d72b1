// All the way of a listener: intake, projector and edge on a real log, a channel or two, and who listens.
import { PassThrough } from 'node:stream'
import { plainChannel } from '../../src/domain/registry.ts'
import { Edge, type EdgeOptions } from '../../src/edge/edge.ts'
import { Intake, type IntakeOptions } from '../../src/intake/intake.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { Listeners } from '../../src/log/listeners.ts'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { Projector } from '../../src/projector/projector.ts'
import { metricOf, openLog, until } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'
import { Player } from '../helpers/player.ts'

export type World = Awaited<ReturnType<typeof startWorld>>
export type Answer = { status: number; headers: Headers; body: string }

export const token = 'push-token-of-every-channel-here'
export const wrongToken = 'a-token-that-nobody-was-ever-given'

/** With station `radio` and the channels `main` and `rock`, both of the same token. */
export async function startWorld(
  more: { intake?: Partial<IntakeOptions>; edge?: Partial<EdgeOptions> } = {},
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
  const events = new EventLog(connection, metrics)
  const listeners = new Listeners(connection)
  await Promise.all([registry.start(), tokens.start()])
  await registry.putStation({ key: 'radio', name: 'Radio', timezone: 'Europe/Berlin' })
  const channel = async (key: string) => {
    await registry.putChannel(plainChannel(key, 'radio', `Radio ${key}`))
    await tokens.add(key, token, 'test')
  }
  for (const key of ['main', 'rock']) await channel(key)
  const tls = { tlsCert: undefined, tlsKey: undefined }
  const projector = new Projector({ connection, topology, log, metrics })
  const intake = new Intake({
    config: { host: '127.0.0.1', intakePort: 0, pushRate: 100_000, ...tls },
    ...{ events, registry, tokens, listeners, log, metrics },
    ...more.intake,
  })
  const edge = new Edge({
    config: {
      host: '127.0.0.1',
      edgePort: 0,
      drain: 0,
      maxSockets: undefined,
      socketQueue: 262_144,
      ...tls,
    },
    ...{ connection, topology, registry, log, metrics },
    ...more.edge,
  })
  await Promise.all([projector.start(), intake.start(), edge.start()])
  const sockets: Player[] = []

  const ask = async (url: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  const toIntake = (method: string, path: string, body?: string, type = 'application/json') =>
    ask(`http://127.0.0.1:${intake.port}${path}`, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'Content-Type': type } }),
    })
  return {
    nats,
    connection,
    registry,
    tokens,
    listeners,
    metrics,
    intake,
    edge,
    /** All that was logged. */
    printed: () => printed.join(''),
    /** A further channel with the token. */
    channel,
    toIntake,
    /** A session begins; throws where it is not taken. */
    async begin(channelkey: string, metaid: string, body?: object): Promise<void> {
      const path = `/listener/${channelkey}/${token}/${metaid}`
      const { status, body: text } = await toIntake('PUT', path, body && JSON.stringify(body))
      if (status !== 204) throw new Error(`PUT ${status} ${text}`)
    },
    async end(channelkey: string, metaid: string, client?: string): Promise<void> {
      const query = client === undefined ? '' : `?client=${client}`
      const { status, body } = await toIntake('DELETE', `/listener/${channelkey}/${token}/${metaid}${query}`)
      if (status !== 204) throw new Error(`DELETE ${status} ${body}`)
    },
    hook: (channelkey: string, fields: Record<string, string>, pushToken = token) =>
      toIntake(
        'POST',
        `/icecast/${channelkey}/${pushToken}`,
        new URLSearchParams(fields).toString(),
        'application/x-www-form-urlencoded',
      ),
    push: (channelkey: string, query: string) => toIntake('GET', `/metapush/${channelkey}/${token}?${query}`),
    poll: (path: string, headers: Record<string, string> = {}) =>
      ask(`http://127.0.0.1:${edge.port}/metadata/${path}`, { headers }),
    /** Resolves once no hook waits to be stored any more. */
    intakeIdle: () =>
      until('no hook waits', async () => (await metricOf(metrics.intakeWaitingHooks)) === 0, 30_000),
    /** A WebSocket of a listener. */
    async player(metaid: string, query = ''): Promise<Player> {
      const player = await Player.open(`ws://127.0.0.1:${edge.port}/metadata/listener/${metaid}${query}`)
      sockets.push(player)
      return player
    },
    async stop(): Promise<void> {
      nats.resume()
      for (const { ws } of sockets) ws.terminate()
      for (const role of [edge, intake, projector]) await role.stop()
      listeners.stop()
      await registry.stop()
      await tokens.stop()
      await connection.close()
      await nats.stop()
    },
  }
}
