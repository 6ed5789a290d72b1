// The streams and buckets, made on first use and checked on every start.
import type { LogConnection } from './connection.ts'

export type TopologyOptions = { replicas: number; retentionDays: number }

/** Which life of the bucket `channel` this is; part of every position. */
export type Topology = { incarnation: string }

/** Makes what is missing (any number of processes may do so at once). Throws a StartError where an existing stream is not ours or cannot be brought to these options. */
export async function ensureTopology(
  _connection: LogConnection,
  _options: TopologyOptions,
): Promise<Topology> {
  throw new Error('not built')
}
