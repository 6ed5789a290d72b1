// What a parent and its edge processes tell each other. It goes over IPC and nowhere else, since it holds the
// credentials of NATS: arguments and environment can be read by others.
import type { Registry } from 'prom-client'
import type { Config } from '../config/options.ts'
import type { LogAddress } from '../log/connection.ts'

/** The options that an edge needs; the admin token is none of them. */
export type EdgeConfig = Pick<
  Config,
  | 'host'
  | 'edgePort'
  | 'shareEdgePort'
  | 'tlsCert'
  | 'tlsKey'
  | 'drain'
  | 'maxSockets'
  | 'socketQueue'
  | 'logLevel'
  | 'replicas'
  | 'retention'
>

/** The metrics of one process, as prom-client gives and aggregates them. */
export type MetricList = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** How often an edge process says that it is alive. */
export const signMs = 1_000

export type ToEdge =
  | { type: 'start'; number: number; config: EdgeConfig; address: LogAddress }
  | { type: 'metrics' }
  /** Drain, answer for a while what came in before, then end. */
  | { type: 'drain'; lingerMs: number }

export type FromEdge =
  /** The port is bound. */
  | { type: 'ready'; port: number }
  /** It cannot start, in one line for the operator; it ends. */
  | { type: 'failed'; message: string }
  /** Why it cannot serve; empty when it can. Sent whenever that changes. */
  | { type: 'reasons'; reasons: string[] }
  /** A sign of life, every `signMs`. */
  | { type: 'alive' }
  | { type: 'metrics'; metrics: MetricList }

/** Of all options those of an edge that shares its port with others of the same parent. */
export function edgeConfigOf(config: Config, edgePort: number): EdgeConfig {
  const { host, tlsCert, tlsKey, drain, maxSockets, socketQueue, logLevel, replicas, retention } = config
  const shared = { edgePort, shareEdgePort: true }
  return { host, ...shared, tlsCert, tlsKey, drain, maxSockets, socketQueue, logLevel, replicas, retention }
}
