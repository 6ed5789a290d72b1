// A server on node:http with what every listener bounds: its connections, and the time that each may take. A connection
// costs an open file, and those are what the log, the players and the other listeners need too.
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Metrics } from './metrics.ts'

export type ListenerName = 'intake' | 'console' | 'operations' | 'legacy'

export type HttpServerOptions = {
  /** Whose connections are counted. */
  listener: ListenerName
  /** PEM texts. */
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined
  /** Open at once; one more is dropped without an answer. */
  maxConnections: number
  /** From the first byte of a request to its last; its head has 10 s of it. */
  requestTimeoutMs?: number | undefined
  metrics: Pick<Metrics, 'connectionsDropped'>
  /** What else this listener needs. */
  more?: ServerOptions
}

const defaultRequestTimeoutMs = 30_000
const headersTimeoutMs = 10_000
/** Without a byte in either direction, longer than any answer takes: who does not read its answers is cut off. */
const silenceMs = 60_000

/** Not listening yet. Throws on keys that are none. */
export function createHttpServer(options: HttpServerOptions, handler: RequestListener): Server {
  const { listener, tls, maxConnections, metrics, more } = options
  const requestTimeout = options.requestTimeoutMs ?? defaultRequestTimeoutMs
  const timed = {
    requestTimeout,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeout),
    handshakeTimeout: headersTimeoutMs,
    keepAliveTimeout: silenceMs,
    connectionsCheckingInterval: 1_000,
    // Node would refuse one without a host by itself, and say nothing.
    requireHostHeader: false,
    ...more,
  }
  const server =
    tls === undefined ? createServer(timed, handler) : createTlsServer({ ...timed, ...tls }, handler)
  // An expectation that nobody knows is no reason to lose a title, and node's own refusal would say nothing.
  server.on('checkExpectation', handler)
  server.setTimeout(silenceMs)
  server.maxConnections = maxConnections
  server.on('drop', () => {
    metrics.connectionsDropped.inc({ listener })
    // Those that are only kept for later make room for whoever tries again.
    server.closeIdleConnections()
  })
  return server
}
