// The role console: registry, tokens and mounts, by the admin API.
import type { Tls } from '../config/tls.ts'
import type { EventLog } from '../log/event-log.ts'
import type { History } from '../log/history.ts'
import type { Mounts } from '../log/mounts.ts'
import type { Registry } from '../log/registry.ts'
import type { Tokens } from '../log/tokens.ts'
import { listenError } from '../observe/listen.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Service } from '../observe/service.ts'
import { buildApp, type ConsoleBounds } from './app.ts'
import type { ApiApp } from './parts.ts'
import { Serial } from './serial.ts'

export type ConsoleOptions = {
  host: string
  /** 0 takes a free one. */
  port: number
  tls: Tls | undefined
  adminToken: string
  /** Started already, as are the tokens and mounts. */
  registry: Registry
  tokens: Tokens
  mounts: Mounts
  events: EventLog
  /** Closed with the console. */
  history: History
  log: Logger
  metrics: Metrics
  /** Other than by default. */
  bounds?: ConsoleBounds
}

export class Console implements Service {
  readonly id = 'console'
  readonly #options: ConsoleOptions
  readonly #app: ApiApp
  #port: number
  #closed: Promise<void> | undefined

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.#port = options.port
    const { adminToken, tls, registry, tokens, mounts, events, history, log, metrics } = options
    this.#app = buildApp(
      { registry, tokens, mounts, events, history, log, metrics, writes: new Serial() },
      adminToken,
      tls,
      options.bounds,
    )
  }

  /** The port that is listened on. */
  get port(): number {
    return this.#port
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    await this.#app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
      throw listenError(error, 'console', host, port)
    })
    const address = this.#app.server.address()
    if (typeof address === 'object' && address !== null) this.#port = address.port
  }

  unready(): string | null {
    return null
  }

  /** Listens no more; what was asked is answered. */
  drain(): Promise<void> {
    this.#closed ??= this.#app.close()
    return this.#closed
  }

  async stop(): Promise<void> {
    const closed = this.drain()
    this.#app.server.closeAllConnections()
    await closed
    await this.#options.history.close()
  }
}
