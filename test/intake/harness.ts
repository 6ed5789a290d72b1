// An intake on a real log, and connections that send raw bytes.
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import type { LoggedEvent, PushEvent } from '../../src/domain/event.ts'
import { type ChannelSettings, plainChannel } from '../../src/domain/registry.ts'
import { Intake, type IntakeOptions } from '../../src/intake/intake.ts'
import { connectLog } from '../../src/log/connection.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { Listeners } from '../../src/log/listeners.ts'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { ensureTopology } from '../../src/log/topology.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

export const token = 'right-token-of-the-channel-0123456789'
export const wrongToken = 'wrong-token-that-nobody-gave-98765432'

export type Harness = Awaited<ReturnType<typeof startHarness>>

/** A log with station `radio` and some channels (all with the same token), and an intake on it. */
export async function startHarness(options: Partial<IntakeOptions> = {}) {
  const nats: TestNats = await startNats()
  const printed: string[] = []
  const sink = new PassThrough()
  sink.on('data', chunk => printed.push(String(chunk)))
  const log = createLog('debug', sink)
  const metrics = createMetrics()
  const connection = await connectLog({ url: nats.url }, 'test', log, metrics)
  await ensureTopology(connection, { replicas: 1, retentionDays: 1 })
  const registry = new Registry(connection)
  const tokens = new Tokens(connection)
  const events = new EventLog(connection, metrics)
  await registry.start()
  await tokens.start()
  await registry.putStation({ key: 'radio', name: 'Radio', timezone: 'Europe/Berlin' })
  const config = {
    host: '127.0.0.1',
    intakePort: 0,
    pushRate: 100_000,
    tlsCert: undefined,
    tlsKey: undefined,
  }
  const listeners = new Listeners(connection)
  const parts = { config, events, registry, tokens, listeners, log, metrics }
  const intakes: Intake[] = []
  const start = async (more: Partial<IntakeOptions> = {}): Promise<Intake> => {
    const intake = new Intake({ ...parts, ...options, ...more })
    await intake.start()
    intakes.push(intake)
    return intake
  }
  const intake = await start()
  return {
    nats,
    intake,
    config,
    metrics,
    registry,
    tokens,
    listeners,
    /** Another intake on the same log. */
    start,
    /** All that was logged. */
    printed: () => printed.join(''),
    /** A new channel with the token. */
    channel: async (key: string): Promise<string> => {
      await registry.putChannel(channelSettings(key))
      await tokens.add(key, token, 'test')
      return key
    },
    /** What was stored for a channel, in order. */
    pushes: async (channelkey: string): Promise<PushEvent[]> => {
      const found: PushEvent[] = []
      const { state } = await connection.jsm.streams.info('EVENTS')
      for await (const stored of events.read(1, state.last_seq))
        if (isPushOf(stored, channelkey)) found.push(stored.event)
      return found
    },
    stop: async () => {
      for (const each of intakes) await each.stop()
      await registry.stop()
      await tokens.stop()
      await connection.close()
      await nats.stop()
    },
  }
}

export function channelSettings(key: string): ChannelSettings {
  return plainChannel(key, 'radio', `Channel ${key}`)
}

function isPushOf(stored: LoggedEvent, channelkey: string): stored is LoggedEvent & { event: PushEvent } {
  return stored.channelkey === channelkey && 'element' in stored.event
}

export type Answer = { status: number; headers: Map<string, string>; body: string }

/** A connection that writes bytes as they are and reads answers. */
export class RawClient {
  readonly socket: Socket
  readonly closed: Promise<void>
  #received = Buffer.alloc(0)
  #wake: () => void = () => undefined

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    this.closed = new Promise(resolve => this.socket.once('close', () => resolve()))
    this.socket.on('data', chunk => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    this.socket.on('end', () => {
      this.socket.end()
      this.#wake()
    })
    this.socket.on('close', () => this.#wake())
    this.socket.on('error', () => this.#wake())
  }

  /** Writes; resolves once the bytes are with the system. */
  write(bytes: string | Buffer): Promise<void> {
    const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
    return new Promise(resolve => this.socket.write(data, () => resolve()))
  }

  /** The next final answer; interim ones (100) are skipped. Throws when the connection ends before. That to HEAD has no body. */
  async answer(method = ''): Promise<Answer> {
    for (;;) {
      const answer = this.#take(method !== 'HEAD')
      if (answer !== undefined && answer.status !== 100) return answer
      if (answer !== undefined) continue
      if (this.socket.readableEnded || this.socket.destroyed) {
        throw new Error(`closed without an answer after: ${this.#received.toString('latin1')}`)
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  #take(hasBody: boolean): Answer | undefined {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n')
    const headers = new Map(
      lines.map(line => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const bodyEnd = end + 4 + (hasBody ? Number(headers.get('content-length') ?? 0) : 0)
    if (this.#received.length < bodyEnd) return undefined
    const body = this.#received.toString('utf8', end + 4, bodyEnd)
    this.#received = this.#received.subarray(bodyEnd)
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }
}

/** Sends bytes on a connection of their own; resolves to the answer. */
export async function exchange(port: number, bytes: string | Buffer): Promise<Answer> {
  const client = new RawClient(port)
  try {
    void client.write(bytes)
    return await client.answer(String(bytes).split(' ', 1)[0])
  } finally {
    client.socket.destroy()
  }
}

/** A request by node's own client, which is never rude. */
export async function request(
  port: number,
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> } = {},
): Promise<{ status: number; headers: Headers; body: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, redirect: 'manual' })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

/** The JSON of an answer's body. */
export function json(answer: { body: string }): Record<string, unknown> {
  return JSON.parse(answer.body)
}
