// The role edge: serves what is shown, by polling and by WebSocket, from one watch of the bucket `channel`.
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultMaxSockets } from '../config/file-limit.ts'
import type { Config } from '../config/options.ts'
import { type ChannelUpdate, watchChannels } from '../log/channel-watch.ts'
import type { LogConnection } from '../log/connection.ts'
import { Listeners } from '../log/listeners.ts'
import type { ReadLimits } from '../log/read-budget.ts'
import type { Registry } from '../log/registry.ts'
import type { Topology } from '../log/topology.ts'
import { requireOwnEdgePort } from '../observe/listen.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Service } from '../observe/service.ts'
import { createApp } from './app.ts'
import { Audience, closeCodes, endSocket } from './audience.ts'
import { ChannelStates, type Frame } from './channel-state.ts'
import { Comments } from './comments.ts'
import { Directory } from './directory.ts'
import { Exchange } from './exchange.ts'
import { EdgeHistory } from './history.ts'
import { type Listening, listen } from './listen.ts'
import { ListenerFeed } from './listener-feed.ts'
import { ListenerPolls } from './listener-polls.ts'
import { nowhere, poll } from './poll.ts'
import { Recent, type RecentLimits } from './recent.ts'
import { type ReplayLimits, ReplayReads } from './replay-reads.ts'
import { Resumes } from './resume.ts'
import { ResumeRate } from './resume-rate.ts'
import { pollRoute } from './route.ts'
import { socketBehaviour, upgrade } from './socket.ts'
import { type StreamContext, serveStream } from './sse.ts'
import { loadUws, type Uws, type UwsApp } from './uws.ts'

export type EdgeOptions = {
  config: Pick<Config, 'host' | 'edgePort' | 'tlsCert' | 'tlsKey' | 'drain' | 'maxSockets' | 'socketQueue'> &
    Partial<Pick<Config, 'shareEdgePort'>>
  connection: LogConnection
  topology: Topology
  /** Where it is not started yet, the edge reads it behind what is shown, which is what nearly all ask for. */
  registry: Registry
  log: Logger
  metrics: Metrics
  /** Which build of the library; by default the best that loads. */
  uws?: Uws
  /** Bind the port only once loaded, so that an edge that shares its port takes no request before it can serve it. */
  bindWhenLoaded?: boolean
  /** Listeners followed at once, other than by default. */
  maxFollowed?: number
  /** Pages of the history that are read at once, and that wait, other than by default. */
  historyReads?: ReadLimits
  /** What is kept in memory for clients that come back, other than by default. */
  recentLimits?: RecentLimits
  /** The limits of reading the log for such clients, other than by default. */
  replayLimits?: Partial<ReplayLimits>
  /** How often a stream gets a comment, other than by default. Milliseconds. */
  commentMs?: number
}

/** After this a registry that is not read is worth a line in the log. */
const registryLateMs = 10_000

/** How often a batch of sockets is closed while draining. */
const drainStepMs = 50

export class Edge implements Service {
  readonly id = 'edge'
  readonly #options: EdgeOptions
  readonly #states = new ChannelStates()
  readonly #directory: Directory
  readonly #listeners: Listeners
  readonly #history: EdgeHistory
  readonly #recent: Recent
  readonly #replays: ReplayReads
  #comments: Comments | undefined
  #app: UwsApp | undefined
  #audience: Audience | undefined
  #feed: ListenerFeed | undefined
  #listening: Listening | undefined
  #watch: Promise<{ stop(): Promise<void> }> | undefined
  #unlisten: (() => void) | undefined
  #loaded = false
  #draining = false

  constructor(options: EdgeOptions) {
    this.#options = options
    this.#directory = new Directory(options.registry, this.#states, options.metrics)
    this.#listeners = new Listeners(options.connection)
    this.#history = new EdgeHistory(options)
    this.#recent = new Recent(options.recentLimits)
    const { connection, log, metrics, replayLimits = {} } = options
    this.#replays = new ReplayReads(connection, { log, metrics, limits: replayLimits })
  }

  /** The bound port; 0 before start. */
  get port(): number {
    return this.#listening?.port ?? 0
  }

  async start(): Promise<void> {
    const { config, connection, registry, log, bindWhenLoaded = false } = this.#options
    const uws = this.#options.uws ?? loadUws()
    const app = createApp(uws, config.tlsCert, config.tlsKey)
    this.#app = app
    this.#route(app, uws)
    const bind = async () => {
      await requireOwnEdgePort(config.host, config.edgePort, config.shareEdgePort)
      this.#listening = listen(uws, app, config.host, config.edgePort)
      log.info({ port: this.port, library: `${uws.name} ${uws.version}` }, 'edge: listening')
    }
    if (!bindWhenLoaded) await bind()
    this.#unlisten = registry.listen({ channelRemoved: channelkey => this.#removeChannel(channelkey) })
    await new Promise<void>((loaded, failed) => {
      const update = (update: ChannelUpdate) => this.#update(update)
      this.#watch = watchChannels(connection, {
        update,
        caughtUp: () => {
          this.#recent.start()
          loaded()
        },
      })
      this.#watch.catch(error => {
        this.#watch = undefined
        failed(error)
      })
    })
    this.#loaded = true
    if (bindWhenLoaded) await bind()
    if (!registry.isWhole) void this.#readRegistry()
  }

  /** Behind what is shown. Meanwhile the histories of stations are 503, which an operator should not have to guess. */
  async #readRegistry(): Promise<void> {
    const { registry, log } = this.#options
    const late = setTimeout(() => {
      log.warn(
        'edge: the registry is not read yet; the histories of stations are answered with 503 until then',
      )
    }, registryLateMs).unref()
    await registry.start()
    clearTimeout(late)
    this.#forgetRemoved()
  }

  /** The log away is no reason: the edge goes on serving what it knows. */
  unready(): string | null {
    if (this.#draining) return 'draining'
    return this.#loaded ? null : 'not caught up'
  }

  /** Lets no new client in and sends the others elsewhere, spread over the drain time (rule 24). */
  async drain(): Promise<void> {
    this.#draining = true
    this.#listening?.close()
    const sockets = this.#audience?.sockets() ?? []
    const streams = this.#audience?.streams() ?? []
    const ends = [
      ...sockets.map(ws => () => endSocket(ws, closeCodes.shutdown, 'shutting down', 'shutdown')),
      ...streams.map(stream => () => stream.end('shutdown')),
    ]
    const steps = Math.max(1, Math.floor((this.#options.config.drain * 1000) / drainStepMs))
    const batch = Math.ceil(ends.length / steps)
    while (ends.length > 0) {
      for (const end of ends.splice(0, batch)) end()
      await sleep(drainStepMs)
    }
  }

  async stop(): Promise<void> {
    this.#unlisten?.()
    await (await this.#watch)?.stop()
    this.#listening?.close()
    this.#app?.close()
    await this.#history.stop()
    await this.#replays.close()
    this.#comments?.stop()
    this.#feed?.stop()
    this.#listeners.stop()
  }

  #route(app: UwsApp, uws: Uws): void {
    const { config, log, metrics, maxFollowed, topology, commentMs } = this.#options
    const states = this.#states
    const listeners = this.#listeners
    const audience = new Audience(app, metrics)
    const feed = new ListenerFeed({
      listeners,
      states,
      metrics,
      log,
      deliver: (metaid, type, bytes) => audience.deliverTo(metaid, type, bytes),
      ...(maxFollowed === undefined ? {} : { maxFollowed }),
    })
    const serving = {
      states,
      directory: this.#directory,
      listeners: new ListenerPolls({ listeners, feed, states, metrics }),
      loaded: () => this.#loaded,
      draining: () => this.#draining,
    }
    const comments = new Comments(commentMs)
    const recent = this.#recent
    const context: StreamContext = {
      serving,
      audience,
      feed,
      resumes: new Resumes({
        incarnation: topology.incarnation,
        recent,
        reads: this.#replays,
        states,
        metrics,
        log,
      }),
      rate: new ResumeRate(),
      comments,
      metrics,
      limits: { maxSockets: config.maxSockets ?? defaultMaxSockets(), maxQueueBytes: config.socketQueue },
    }
    const observers = { metrics, log }
    app.ws('/*', {
      ...socketBehaviour(context),
      compression: uws.library.DISABLED,
      upgrade: (res, req, socketContext) =>
        Exchange.run(res, req, observers, exchange => upgrade(exchange, socketContext, context)),
    })
    const serve = (exchange: Exchange) => {
      const route = pollRoute(exchange.path)
      if (route !== undefined) return poll(exchange, route, serving)
      return this.#history.serve(exchange, serving) ?? serveStream(exchange, context) ?? nowhere(exchange)
    }
    app.any('/*', (res, req) => Exchange.run(res, req, observers, serve))
    this.#audience = audience
    this.#comments = comments
    this.#feed = feed
  }

  #update(update: ChannelUpdate): void {
    const { metrics } = this.#options
    metrics.edgeChanges.inc()
    this.#history.changed(update)
    const frames = this.#apply(update)
    // In one tick with the delivery: whoever resumes meanwhile gets a record from here or there, never from both.
    this.#recent.add(update.sequence, frames)
    for (const frame of frames) this.#audience?.deliver(frame)
    this.#feed?.channelChanged(update.channelkey, frames)
    metrics.edgeChannels.set(this.#states.size)
  }

  /** Takes a change over; returns what it sends. */
  #apply({ channelkey, value, sequence }: ChannelUpdate): Frame[] {
    const { log, metrics, registry } = this.#options
    if (value === null) {
      // A marker can be late: the channel may have been made anew, and then its clients are not those of the old one.
      if (registry.isWhole && registry.channel(channelkey) === undefined) this.#removeChannel(channelkey)
      else this.#states.remove(channelkey)
      return []
    }
    try {
      return this.#states.apply(channelkey, value, sequence)
    } catch (error) {
      metrics.edgeSkipped.inc()
      log.error({ err: error, channelkey, sequence }, 'edge: a value cannot be read; the last one stays')
      return []
    }
  }

  /** What was removed while the registry was being read. */
  #forgetRemoved(): void {
    for (const channelkey of this.#options.registry.removedChannels()) this.#removeChannel(channelkey)
  }

  #removeChannel(channelkey: string): void {
    this.#states.remove(channelkey)
    this.#audience?.closeChannel(channelkey)
    this.#options.metrics.edgeChannels.set(this.#states.size)
  }
}
