// The connection to NATS, and the only place where its errors are told apart.
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'

/** Where NATS is. user and password may also stand in the url. */
export type LogAddress = { url: string; user?: string; password?: string }

export type LogConnection = {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  /** Whether the connection stands right now. */
  connected(): boolean
  /** Calls back after every reconnect; returns a function that ends it. */
  onReconnect(callback: () => void): () => void
  close(): Promise<void>
}

/** Connects, for ever reconnecting afterwards. Throws a StartError on an unreachable server, refused credentials, a server older than 2.12 or one without JetStream. */
export async function connectLog(
  _address: LogAddress,
  _name: string,
  _log: Logger,
  _metrics: Metrics,
): Promise<LogConnection> {
  throw new Error('not built')
}

/** The log could not be reached, or did not answer in time: nothing is known to be stored (rule 1: 503). */
export class LogUnavailable extends Error {
  override name = 'LogUnavailable'
}
