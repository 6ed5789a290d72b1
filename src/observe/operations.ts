// The operations listener: /healthz, /readyz and /metrics, one per process, always on loopback.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createHttpServer } from './http-server.ts'
import { listen } from './listen.ts'
import type { Metrics } from './metrics.ts'
import type { Service } from './service.ts'

export type OperationsOptions = {
  /** 0 takes a free one. */
  port: number
  metrics: Metrics
  /** Why this process cannot serve right now; empty when it can. */
  reasons(): string[]
  /** Other than by default. */
  maxConnections?: number
  requestTimeoutMs?: number
}

/** Probes and scrapers are few. */
const defaultMaxConnections = 64

/** Answers probes and scrapes. It starts first and stops last, so that a start and a drain can be watched. */
export class Operations implements Service {
  readonly id = 'operations'
  readonly #options: OperationsOptions
  #render: () => Promise<string>
  readonly #server: Server
  #port: number

  constructor(options: OperationsOptions) {
    this.#options = options
    this.#render = () => options.metrics.registry.metrics()
    this.#port = options.port
    const { metrics, maxConnections = defaultMaxConnections, requestTimeoutMs } = options
    this.#server = createHttpServer(
      { listener: 'operations', maxConnections, requestTimeoutMs, metrics },
      (request, response) => {
        this.#answer(request, response).catch((error: Error) =>
          send(response, 500, 'text/plain', error.message),
        )
      },
    )
  }

  /** The port that is listened on. */
  get port(): number {
    return this.#port
  }

  /** From now on /metrics answers what this gives: the metrics of other processes too. */
  renderWith(render: () => Promise<string>): void {
    this.#render = render
  }

  async start(): Promise<void> {
    this.#port = await listen(this.#server, 'operations listener', '127.0.0.1', this.#options.port)
  }

  unready(): string | null {
    return null
  }

  async drain(): Promise<void> {
    // It is needed until the end: /readyz says that the process drains.
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #answer({ method, url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = url.split('?', 1)[0]
    if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics')
      return send(response, 404, 'text/plain', 'not found: /healthz, /readyz and /metrics are here\n')
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      return send(response, 405, 'text/plain', 'only GET\n')
    }
    if (path === '/healthz') return send(response, 200, 'text/plain', 'alive\n')
    if (path === '/metrics') {
      const { registry } = this.#options.metrics
      return send(response, 200, registry.contentType, await this.#render())
    }
    const reasons = this.#options.reasons()
    const ready = reasons.length === 0
    return send(response, ready ? 200 : 503, 'application/json', `${JSON.stringify({ ready, reasons })}\n`)
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  })
  response.end(body)
}
