// The connection to NATS, and the only place where its errors are told apart.
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import {
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { StartError } from '../observe/service.ts'
import { Publisher } from './publisher.ts'

/** Where NATS is; several servers of one cluster are separated by commas. user and password may also stand in the url. */
export type LogAddress = { url: string; user?: string; password?: string }

export type LogConnection = {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  /** For what is stored all the time; js.publish serves the rest. */
  readonly publisher: Publisher
  readonly log: Logger
  /** Whether the connection stands right now. */
  connected(): boolean
  /** Calls back after every reconnect; returns a function that ends it. */
  onReconnect(callback: () => void): () => void
  /**
   * Opens another connection to the same servers, to be closed by the caller, for reads that take long: a nats-server
   * answers one direct read after the other and meanwhile hears nothing else from that connection. Throws a StartError.
   */
  another(purpose: string): Promise<LogConnection>
  close(): Promise<void>
}

type ConnectionMetrics = Pick<Metrics, 'logConnected' | 'logReconnects'>

const oldestServer = [2, 12] as const
const reconnectWaitMs = 200
const reconnectJitterMs = 100
/** Two unanswered pings make a dead connection, so a frozen server is noticed after 3 to 4.5 s; the others are tried then. */
const pingIntervalMs = 1_500
const connectTimeoutMs = 5_000
/** In a cluster a request may be lost with the server it went to; the client's own 5 s is long for one who then asks again. */
const requestTimeoutMs = 2_000

/** Connects, for ever reconnecting afterwards; metrics null: not the one that they tell of. Throws a StartError on an unreachable server, refused credentials, a server older than 2.12 or one without JetStream. */
export async function connectLog(
  address: LogAddress,
  name: string,
  log: Logger,
  metrics: ConnectionMetrics | null,
): Promise<LogConnection> {
  const { servers, ...credentials } = parseAddress(address)
  const where = servers.join(', ')
  const nc = await connect({
    servers,
    ...credentials,
    name,
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectWaitMs,
    reconnectJitter: reconnectJitterMs,
    reconnectJitterTLS: reconnectJitterMs,
    // A server that restarts with its users not yet loaded must not end a running process.
    ignoreAuthErrorAbort: true,
    pingInterval: pingIntervalMs,
    maxPingOut: 2,
    // One Error with its stack per request is dear where a thousand are in flight.
    noAsyncTraces: true,
  }).catch(error => {
    throw startError(error, where)
  })
  try {
    requireServer(nc, where)
    const jsm = await jetstreamManager(nc, { timeout: requestTimeoutMs }).catch(error => {
      throw new StartError(`NATS at ${where}: JetStream does not answer (${messageOf(error)})`)
    })
    const another = (purpose: string) => connectLog(address, `${name} ${purpose}`, log, null)
    return supervise(nc, jsm, log, metrics, another)
  } catch (error) {
    await nc.close()
    throw error
  }
}

type Parsed = { servers: string[]; user?: string; pass?: string; token?: string; tls?: object }

/** The servers without credentials, so that no message shows them. */
function parseAddress({ url, user, password }: LogAddress): Parsed {
  const parsed: Parsed = { servers: [] }
  for (const part of url.split(',')) {
    const text = part.trim()
    const { protocol, host, username, password: pass } = parseUrl(text)
    parsed.servers.push(host)
    if (protocol === 'tls:') parsed.tls = {}
    if (username !== '' && pass !== '') {
      parsed.user = decodeURIComponent(username)
      parsed.pass = decodeURIComponent(pass)
    } else if (username !== '') parsed.token = decodeURIComponent(username)
  }
  if (user !== undefined) parsed.user = user
  if (password !== undefined) parsed.pass = password
  return parsed
}

function parseUrl(text: string): URL {
  const url = URL.parse?.(text.includes('://') ? text : `nats://${text}`) ?? urlOrNull(text)
  if (url === null || url.host === '')
    throw new StartError('the NATS address is not a URL like nats://host:4222')
  return url
}

/** URL.parse came with Node 22. */
function urlOrNull(text: string): URL | null {
  try {
    return new URL(text.includes('://') ? text : `nats://${text}`)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

function startError(error: unknown, where: string): StartError {
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError) {
    return new StartError(`NATS at ${where} refuses the user or password`)
  }
  return new StartError(`NATS at ${where} can't be reached (${messageOf(error)})`)
}

function requireServer(nc: NatsConnection, where: string): void {
  const version = nc.info?.version ?? '0.0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestServer
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new StartError(`NATS at ${where} is ${version}; ${oldestServer.join('.')} or newer is needed`)
  }
  if (nc.info?.jetstream !== true) throw new StartError(`NATS at ${where} runs without JetStream`)
}

/** Follows the connection's ups and downs. */
function supervise(
  nc: NatsConnection,
  jsm: JetStreamManager,
  log: Logger,
  metrics: ConnectionMetrics | null,
  another: LogConnection['another'],
): LogConnection {
  let connected = true
  const callbacks = new Set<() => void>()
  metrics?.logConnected.set(1)
  const follow = async () => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        connected = false
        metrics?.logConnected.set(0)
        log.warn('disconnected from NATS')
      } else if (status.type === 'reconnect') {
        connected = true
        metrics?.logConnected.set(1)
        metrics?.logReconnects.inc()
        log.info('reconnected to NATS')
        for (const callback of [...callbacks]) callback()
      } else if (status.type === 'error') log.warn({ error: status.error.message }, 'NATS reports an error')
    }
    connected = false
    metrics?.logConnected.set(0)
  }
  follow().catch(error => log.error({ error: messageOf(error) }, 'the connection is no longer followed'))
  return {
    nc,
    js: jetstream(nc, { timeout: requestTimeoutMs }),
    jsm,
    publisher: new Publisher(nc),
    log,
    connected: () => connected,
    onReconnect(callback) {
      callbacks.add(callback)
      return () => callbacks.delete(callback)
    },
    another,
    close: () => nc.close(),
  }
}

/** The log could not be reached, or did not answer in time: nothing is known to be stored (rule 1: 503). */
export class LogUnavailable extends Error {
  override name = 'LogUnavailable'
}

/** What a failed request means for the one who asked. */
export type Failure =
  /** No answer, or none who could give one: what was sent may be stored or not. Ask again. */
  | 'no answer'
  /** Stored nothing, and won't before room is made (discard: new). */
  | 'full'
  /** Stored nothing: another message came between. */
  | 'wrong sequence'
  /** The stream, consumer or message is not there. */
  | 'not found'
  /** This connection was closed, by us. */
  | 'closed'
  /** Asking again the same way is of no use. */
  | 'refused'

const code = {
  wrongSequence: [10071, 10164],
  notFound: [10014, 10037, 10059],
  /** The same message id is on its way already: an earlier attempt of ours, which may yet fail. */
  inProcess: 10158,
  storeFailed: 10077,
  noSpace: [10023, 10047],
}

export function failureOf(error: unknown): Failure {
  if (error instanceof errors.TimeoutError || error instanceof errors.NoRespondersError) return 'no answer'
  // That of the inbox: what was sent may be stored all the same.
  if (error instanceof errors.PermissionViolationError) return 'no answer'
  if (error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError) {
    return 'closed'
  }
  if (error instanceof JetStreamApiError) {
    if (code.wrongSequence.includes(error.code)) return 'wrong sequence'
    if (code.notFound.includes(error.code)) return 'not found'
    if (code.noSpace.includes(error.code)) return 'full'
    if (error.code === code.inProcess) return 'no answer'
    if (error.code === code.storeFailed)
      return /maximum (bytes|messages)/.test(error.message) ? 'full' : 'no answer'
    return error.status === 503 ? 'no answer' : 'refused'
  }
  // The client wraps its own errors: "jetstream is not enabled" around a missing responder is a leader change.
  if (error instanceof Error && error.cause !== undefined) return failureOf(error.cause)
  if (error instanceof errors.ConnectionError || error instanceof errors.RequestError) return 'no answer'
  return 'refused'
}

/** The error to throw for a failed request: LogUnavailable where asking again may help. */
export function asLogError(error: unknown): unknown {
  const failure = failureOf(error)
  if (failure !== 'no answer' && failure !== 'full' && failure !== 'closed') return error
  return new LogUnavailable(`the log is not available: ${messageOf(error)}`, { cause: error })
}

/** How long a start waits for a server that does not answer yet: one that is very busy, or elects its leaders. */
const patienceMs = 30_000

/** Asks again for as long as nobody answers, up to 30 s. For a start only; throws what the last attempt threw. */
export async function askPatiently<T>(ask: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + patienceMs
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (failureOf(error) !== 'no answer' || performance.now() > endMs) throw error
      await wait(reconnectWaitMs)
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
