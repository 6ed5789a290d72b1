// The role legacy (spec 9, rule 32): the old subscription paths over the nes protocol, until the sunset.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'
import { Problem } from '../api/errors.ts'
import type { Config } from '../config/options.ts'
import type { Tls } from '../config/tls.ts'
import { ChannelStates } from '../edge/channel-state.ts'
import { Directory } from '../edge/directory.ts'
import { problemAnswer } from '../edge/headers.ts'
import { ListenerFeed } from '../edge/listener-feed.ts'
import { ListenerPolls } from '../edge/listener-polls.ts'
import { noProxy, unreadable } from '../http/raw-answer.ts'
import { type ChannelUpdate, watchChannels } from '../log/channel-watch.ts'
import type { LogConnection } from '../log/connection.ts'
import { Listeners } from '../log/listeners.ts'
import type { Registry } from '../log/registry.ts'
import { createHttpServer } from '../observe/http-server.ts'
import { listen } from '../observe/listen.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Service } from '../observe/service.ts'
import { Client, type Heartbeat } from './client.ts'
import { complete, current, endHeaders, type HttpContext, refusedUpgrade } from './http.ts'
import { Subscriptions } from './subscriptions.ts'

export type LegacyOptions = {
  config: Pick<Config, 'host' | 'legacyPort' | 'legacySunset' | 'drain' | 'socketQueue'>
  tls: Tls | undefined
  connection: LogConnection
  /** Started. */
  registry: Registry
  log: Logger
  metrics: Metrics
  /** Other than by default. */
  heartbeat?: Heartbeat
  maxSockets?: number
  /** Unix milliseconds; default: this machine's clock. */
  clock?: () => number
}

/** What the protocol's own server uses. */
const defaultHeartbeat: Heartbeat = { intervalMs: 15_000, timeoutMs: 5_000 }
const defaultMaxSockets = 10_000
/** Connections besides the sockets, for plain requests. */
const otherConnections = 256
/** A hello with all the subscriptions that a client may have fits in. Bytes. */
export const maxMessageBytes = 16 * 1024
const maxHeaderSize = 8 * 1024
const drainStepMs = 50
/** How often it is looked whether the sunset has come. */
const sunsetCheckMs = 1_000

export class Legacy implements Service {
  readonly id = 'legacy'
  readonly #options: LegacyOptions & { heartbeat: Heartbeat; maxSockets: number; clock: () => number }
  readonly #sunsetMs: number | null
  readonly #server: Server
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes })
  readonly #clients = new Set<Client>()
  readonly #states = new ChannelStates()
  readonly #listeners: Listeners
  readonly #feed: ListenerFeed
  readonly #subscriptions: Subscriptions
  readonly #http: HttpContext
  #timers: NodeJS.Timeout[] = []
  #port = 0
  #watch: { stop(): Promise<void> } | undefined
  #unlisten: (() => void) | undefined
  #loaded = false
  #draining = false

  constructor(options: LegacyOptions) {
    const { config, tls, connection, registry, log, metrics } = options
    this.#options = {
      heartbeat: defaultHeartbeat,
      maxSockets: defaultMaxSockets,
      clock: Date.now,
      ...options,
    }
    this.#sunsetMs = config.legacySunset === undefined ? null : Date.parse(`${config.legacySunset}T00:00:00Z`)
    const states = this.#states
    const listeners = new Listeners(connection)
    // An edge may run in this process too, and its numbers are its own.
    const own = { ...metrics, edgeFollowed: metrics.legacyFollowed, edgeRejected: metrics.legacyRejected }
    const directory = new Directory(registry, this.#states, own)
    const feed = new ListenerFeed({
      listeners,
      states,
      log,
      metrics: own,
      deliver: (metaid, _type, bytes) => this.#subscriptions.deliverTo(metaid, bytes),
    })
    this.#listeners = listeners
    this.#feed = feed
    this.#subscriptions = new Subscriptions({ states, directory, feed, metrics })
    this.#http = { states, directory, polls: new ListenerPolls({ listeners, feed, states, metrics: own }) }
    const handler = (request: IncomingMessage, response: ServerResponse) =>
      void this.#answer(request, response)
    const maxConnections = this.#options.maxSockets + otherConnections
    const bounds = { listener: 'legacy', tls, maxConnections, metrics, more: { maxHeaderSize } } as const
    this.#server = createHttpServer(bounds, handler)
    this.#server.on('clientError', (error, socket) => {
      const found = unreadable(error)
      if (found === undefined) socket.destroy()
      else this.#refuse(socket, found.problem)
    })
    this.#server.on('connect', (_, socket) => this.#refuse(socket, noProxy))
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.#sockets.on('wsClientError', ({ message }, socket) =>
      this.#refuse(socket, new Problem('malformed', `${message}.`)),
    )
    this.#sockets.on('headers', headers => {
      for (const [name, value] of endHeaders(this.#sunsetMs)) headers.push(`${name}: ${value}`)
    })
  }

  /** The bound port; 0 before start. */
  get port(): number {
    return this.#port
  }

  /** Resolves once the current state is read and the port is bound. */
  async start(): Promise<void> {
    const { config, connection, registry, log } = this.#options
    this.#unlisten = registry.listen({ channelRemoved: channelkey => this.#removeChannel(channelkey) })
    await new Promise<void>((loaded, failed) => {
      watchChannels(connection, { update: update => this.#update(update), caughtUp: loaded }).then(watch => {
        this.#watch = watch
      }, failed)
    })
    this.#loaded = true
    this.#port = await listen(this.#server, 'legacy listener', config.host, config.legacyPort)
    const beat = setInterval(() => this.#beat(), this.#options.heartbeat.intervalMs)
    const sunset = setInterval(() => this.#endAtSunset(), sunsetCheckMs)
    this.#timers = [beat.unref(), sunset.unref()]
    log.info({ port: this.#port, sunset: config.legacySunset }, 'legacy: listening')
    if (this.#isOver()) log.warn('legacy: the sunset is past, every request gets 410')
  }

  unready(): string | null {
    if (this.#draining) return 'draining'
    return this.#loaded ? null : 'not caught up'
  }

  /** Lets no new client in and ends the others, spread over the drain time. */
  async drain(): Promise<void> {
    this.#draining = true
    this.#server.close()
    const clients = [...this.#clients]
    const steps = Math.max(1, Math.floor((this.#options.config.drain * 1000) / drainStepMs))
    const batch = Math.ceil(clients.length / steps)
    while (clients.length > 0) {
      for (const client of clients.splice(0, batch)) client.end(1012, 'shutting down', 'shutdown')
      await sleep(drainStepMs)
    }
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#unlisten?.()
    await this.#watch?.stop()
    this.#server.close()
    for (const ws of this.#sockets.clients) ws.terminate()
    this.#server.closeAllConnections()
    this.#feed.stop()
    this.#listeners.stop()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    let answer = problemAnswer(new Problem('internal'))
    try {
      this.#requireTime()
      answer = await current(method, url, headers['if-none-match'] ?? '', this.#http)
    } catch (error) {
      if (error instanceof Problem) answer = problemAnswer(error)
      else this.#options.log.error({ err: error }, 'legacy: a request could not be answered')
    }
    const { status, headers: lines, body } = complete(answer, this.#sunsetMs)
    this.#options.metrics.legacyRequests.inc({ status })
    response.writeHead(status, lines.flat())
    response.end(method === 'HEAD' ? undefined : (body ?? undefined))
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', error =>
      this.#options.log.debug({ error: error.message }, 'legacy: a connection broke'),
    )
    try {
      this.#requireTime()
      this.#requireRoom()
      this.#sockets.handleUpgrade(request, socket, head, ws => this.#welcome(ws))
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem('internal')
      if (problem !== error) this.#options.log.error({ err: error }, 'legacy: an upgrade failed')
      this.#refuse(socket, problem)
    }
  }

  #refuse(socket: Duplex, problem: Problem): void {
    this.#options.metrics.legacyRequests.inc({ status: problem.status })
    if (socket.writable) socket.end(refusedUpgrade(problem, this.#sunsetMs), () => socket.destroy())
    else socket.destroy()
  }

  #welcome(ws: WebSocket): void {
    const { heartbeat, log, metrics, config } = this.#options
    const client = new Client({
      ws,
      heartbeat,
      log,
      metrics,
      subscriptions: this.#subscriptions,
      maxQueueBytes: config.socketQueue,
    })
    this.#clients.add(client)
    metrics.legacySockets.set(this.#clients.size)
    ws.on('error', error => log.debug({ error: error.message }, 'legacy: a socket broke'))
    ws.on('close', () => {
      client.closed()
      this.#clients.delete(client)
      metrics.legacySockets.set(this.#clients.size)
    })
  }

  #isOver(): boolean {
    return this.#sunsetMs !== null && this.#options.clock() >= this.#sunsetMs
  }

  #requireTime(): void {
    if (this.#isOver()) throw new Problem('gone')
  }

  #requireRoom(): void {
    if (this.#draining) throw new Problem('busy', 'This listener is shutting down.', { retryAfter: 1 })
    if (this.#clients.size < this.#options.maxSockets) return
    this.#options.metrics.legacyRejected.inc({ limit: 'sockets' })
    throw new Problem('busy', 'This listener has as many sockets as it may have.', { retryAfter: 5 })
  }

  #endAtSunset(): void {
    if (!this.#isOver()) return
    for (const client of this.#clients) client.end(1001, 'gone', 'sunset')
  }

  #beat(): void {
    const clients = [...this.#clients]
    for (const client of clients) client.beat()
    setTimeout(() => {
      for (const client of clients) client.endIfSilent()
    }, this.#options.heartbeat.timeoutMs).unref()
  }

  #update({ channelkey, value, sequence }: ChannelUpdate): void {
    const { log, metrics, registry } = this.#options
    if (value === null) {
      // A marker can be late: the channel may have been made anew, and then its clients are not those of the old one.
      if (registry.channel(channelkey) === undefined) this.#removeChannel(channelkey)
      else this.#states.remove(channelkey)
      return
    }
    try {
      const frames = this.#states.apply(channelkey, value, sequence)
      for (const frame of frames) this.#subscriptions.deliver(frame)
      this.#feed.channelChanged(channelkey, frames)
    } catch (error) {
      metrics.legacySkipped.inc()
      log.error({ err: error, channelkey, sequence }, 'legacy: a value cannot be read; the last one stays')
    }
  }

  #removeChannel(channelkey: string): void {
    this.#states.remove(channelkey)
    this.#subscriptions.removeChannel(channelkey)
  }
}
