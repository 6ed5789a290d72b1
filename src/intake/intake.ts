// The role intake: takes pushes over HTTP ({base_url}) and puts each into the log.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { defaultMaxConnections } from '../config/file-limit.ts'
import type { Config } from '../config/options.ts'
import type { EventLog } from '../log/event-log.ts'
import type { Listeners } from '../log/listeners.ts'
import type { Registry } from '../log/registry.ts'
import type { Tokens } from '../log/tokens.ts'
import { listen } from '../observe/listen.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { type Service, StartError } from '../observe/service.ts'
import { AppendQueue, type QueueOptions } from './append-queue.ts'
import { addEncoderRoutes } from './encoder-routes.ts'
import { addHookRoutes } from './hook-routes.ts'
import { type HookParts, Hooks } from './hooks.ts'
import { acceptPushes } from './push.ts'
import { PushRate } from './push-rate.ts'
import { addPushRoutes } from './push-routes.ts'
import { createServer, type IntakeServer, type ServerOptions, type TlsKeys } from './server.ts'
import { addSessionRoutes } from './session-routes.ts'
import { WrongTokens } from './wrong-tokens.ts'

export type IntakeOptions = {
  config: Pick<Config, 'host' | 'intakePort' | 'pushRate' | 'tlsCert' | 'tlsKey'> &
    Partial<Pick<Config, 'maxConnections'>>
  events: Pick<EventLog, 'append'>
  registry: Pick<Registry, 'channel' | 'findChannel' | 'readChannel' | 'findStation'>
  tokens: Pick<Tokens, 'matchesHere' | 'matches'>
  listeners: Pick<Listeners, 'change'>
  log: Logger
  metrics: Metrics
  /** Unix milliseconds; default: this machine's clock. */
  clock?: () => number
  /** Limits other than the defaults. */
  front?: NonNullable<ServerOptions['front']>
  requestTimeoutMs?: number
  maxUnanswered?: number
  queue?: Omit<QueueOptions, 'metrics'>
  hooks?: Pick<HookParts, 'maxWaiting' | 'deadlineMs'>
}

/** Longer than a push may wait for the log, so that whatever was taken gets its answer. */
const maxDrainMs = 10_000

export class Intake implements Service {
  readonly id = 'intake'
  readonly #options: IntakeOptions
  #port: number
  #server: IntakeServer | undefined
  readonly #hooks: Hooks
  #state: 'new' | 'serving' | 'draining' | 'stopped' = 'new'
  #closed: Promise<void> = Promise.resolve()

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#port = options.config.intakePort
    this.#hooks = new Hooks({ ...options, ...options.hooks })
  }

  /** The port that is listened on, once started. */
  get port(): number {
    return this.#port
  }

  async start(): Promise<void> {
    const { config, log } = this.#options
    const built = this.#build(await readKeys(config))
    this.#server = built
    await built.app.ready()
    this.#port = await listen(built.server, this.id, config.host, config.intakePort)
    this.#closed = new Promise(resolve => built.server.once('close', resolve))
    this.#state = 'serving'
    log.info({ host: config.host, port: this.#port }, 'the intake listens')
  }

  unready(): string | null {
    return this.#state === 'serving' ? null : `the intake is ${this.#state}`
  }

  /** Stops accepting; every request that arrives whole on an open connection is still answered, and closes it. */
  async drain(): Promise<void> {
    if (this.#state !== 'serving' || this.#server === undefined) return
    this.#state = 'draining'
    const { server, front } = this.#server
    server.close()
    front.closeIdle()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<void>(resolve => {
      timer = setTimeout(resolve, maxDrainMs)
    })
    await Promise.race([this.#closed.then(() => this.#hooks.idle()), tooLong])
    clearTimeout(timer)
  }

  async stop(): Promise<void> {
    if (this.#server === undefined) return
    const { app, server, front } = this.#server
    this.#server = undefined
    if (server.listening) server.close()
    front.closeAll()
    server.closeAllConnections()
    await this.#closed
    await app.close()
    this.#state = 'stopped'
  }

  #build(tls: TlsKeys | undefined): IntakeServer {
    const { config, events, registry, tokens, listeners, log, metrics, clock = Date.now } = this.#options
    const { front = {}, requestTimeoutMs, maxUnanswered } = this.#options
    const server = createWithKeys(config, {
      tls,
      metrics,
      log,
      front,
      maxConnections: config.maxConnections ?? defaultMaxConnections(),
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      ...(maxUnanswered !== undefined && { maxUnanswered }),
      draining: () => this.#state === 'draining',
    })
    const wrongTokens = new WrongTokens({ metrics })
    const accept = acceptPushes({
      registry,
      tokens,
      events,
      listeners,
      metrics,
      clock,
      queue: new AppendQueue({ ...this.#options.queue, metrics }),
      rate: new PushRate({ rate: config.pushRate, metrics }),
      wrongTokens,
      intake: randomUUID(),
    })
    addPushRoutes(server.app, accept)
    addEncoderRoutes(server.app, accept)
    const sessionMetrics = { ...metrics, intakeWaiting: metrics.intakeWaitingSessions }
    const queue = new AppendQueue({ ...this.#options.queue, metrics: sessionMetrics })
    addSessionRoutes(server.app, { registry, tokens, listeners, metrics, wrongTokens, queue })
    addHookRoutes(server.app, this.#hooks)
    return server
  }
}

type KeyFiles = Pick<Config, 'tlsCert' | 'tlsKey'>

async function readKeys({ tlsCert, tlsKey }: KeyFiles): Promise<TlsKeys | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new StartError('the intake needs both or none of a TLS certificate and its key')
  }
  return { cert: await readPem(tlsCert), key: await readPem(tlsKey) }
}

async function readPem(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`the intake cannot read ${path}: ${error.code ?? error.message}`)
  })
}

function createWithKeys(config: KeyFiles, options: ServerOptions): IntakeServer {
  try {
    return createServer(options)
  } catch (error) {
    if (options.tls === undefined || !(error instanceof Error)) throw error
    throw new StartError(`the intake cannot use ${config.tlsCert} with ${config.tlsKey}: ${error.message}`)
  }
}
