// The streams and buckets, made on first use and checked on every start.
import { randomBytes } from 'node:crypto'
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  PersistMode,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { millis, nanos } from '@nats-io/transport-node'
import { StartError } from '../observe/service.ts'
import { askPatiently, asLogError, failureOf, type LogConnection, messageOf } from './connection.ts'

export type TopologyOptions = { replicas: number; retentionDays: number }

export type Topology = {
  /** Which life of the bucket `channel` this is; part of every position. */
  incarnation: string
  /** How long the bucket `channel` keeps a value, milliseconds; 0: for ever. */
  retentionMs: number
}

/** The streams' names. A bucket's stream is `KV_` and its name, so that every NATS client opens it. */
export const streams = {
  events: 'EVENTS',
  channel: 'KV_channel',
  registry: 'KV_registry',
  token: 'KV_token',
  mount: 'KV_mount',
  listener: 'KV_listener',
} as const

/** Where the bucket `listener` repeats each of its messages for those who follow a key. */
export const livePrefix = 'live.listener.'

const duplicateWindowMs = 2 * 60_000
const dayMs = 86_400_000
/** A session that lapsed leaves a marker for so long, so that those who follow it learn of it. */
const lapseMarkerMs = 5 * 60_000
const makeTimeoutMs = 10_000
const incarnationKey = 'nownext-incarnation'
const incarnationForm = /^[0-9a-f]{8}$/

/** Makes what is missing (any number of processes may do so at once). Throws a StartError where an existing stream is not ours or cannot be brought to these options. */
export async function ensureTopology(hasty: LogConnection, options: TopologyOptions): Promise<Topology> {
  const { replicas } = options
  // To make a stream of three replicas may take a while, and asking twice makes it no faster.
  const connection = { ...hasty, jsm: await managerOf(hasty) }
  const maxAge = nanos(options.retentionDays * dayMs)
  const shared = {
    storage: StorageType.File,
    compression: StoreCompression.S2,
    // Full means refused and said so, never an old event dropped in silence.
    discard: DiscardPolicy.New,
    allow_direct: true,
    num_replicas: replicas,
  }
  // One key, one value. (A watch of it may miss a value that was soon superseded: the last one always comes.)
  const bucket = { ...shared, max_msgs_per_subject: 1, allow_rollup_hdrs: true }
  // Replicated streams don't know this mode.
  const asyncWhereAlone = replicas === 1 ? { persist_mode: PersistMode.Async } : {}
  await ensure(connection, {
    ...shared,
    name: streams.events,
    subjects: ['event.>'],
    max_age: maxAge,
    duplicate_window: nanos(duplicateWindowMs),
  })
  await ensure(connection, { ...bucket, name: streams.registry, subjects: ['$KV.registry.>'] })
  await ensure(connection, { ...bucket, name: streams.token, subjects: ['$KV.token.>'] })
  await ensure(connection, { ...bucket, name: streams.mount, subjects: ['$KV.mount.>'] })
  await ensure(connection, {
    ...bucket,
    name: streams.listener,
    subjects: ['$KV.listener.>'],
    allow_msg_ttl: true,
    subject_delete_marker_ttl: nanos(lapseMarkerMs),
    republish: { src: '$KV.listener.>', dest: `${livePrefix}>` },
    ...asyncWhereAlone,
  })
  const channel = await ensure(connection, {
    ...shared,
    name: streams.channel,
    subjects: ['$KV.channel.>'],
    // All history stays: resume and the history pages read it, a value here and a value there; a compressed block
    // would be unpacked for each.
    compression: StoreCompression.None,
    max_msgs_per_subject: -1,
    max_age: maxAge,
    metadata: { [incarnationKey]: randomBytes(4).toString('hex') },
    // What a power cut takes from this bucket is folded again from EVENTS.
    ...asyncWhereAlone,
  })
  return topologyOf(channel)
}

/** The topology as it is, for those who make none. Throws a StartError where there is none; LogUnavailable. */
export async function readTopology(connection: LogConnection): Promise<Topology> {
  try {
    const channel = await find(connection, streams.channel)
    if (channel !== undefined) return topologyOf(channel)
  } catch (error) {
    throw asLogError(error)
  }
  throw new StartError('this NATS has no log of nownext yet: start the service on it first')
}

function topologyOf({ config }: StreamInfo): Topology {
  const incarnation = config.metadata?.[incarnationKey] ?? ''
  if (!incarnationForm.test(incarnation)) throw notOurs(streams.channel, `it has no ${incarnationKey}`)
  return { incarnation, retentionMs: millis(config.max_age) }
}

async function managerOf({ nc }: LogConnection): Promise<JetStreamManager> {
  return await jetstreamManager(nc, { timeout: makeTimeoutMs, checkAPI: false })
}

type Wanted = Partial<StreamConfig> & { name: string; subjects: string[] }

async function ensure(connection: LogConnection, wanted: Wanted): Promise<StreamInfo> {
  try {
    const found = await askPatiently(
      async () => (await find(connection, wanted.name)) ?? (await create(connection, wanted)),
    )
    requireOurs(found, wanted)
    return await raise(connection, found, wanted)
  } catch (error) {
    if (error instanceof JetStreamApiError && failureOf(error) === 'refused') {
      throw new StartError(`stream ${wanted.name}: ${messageOf(error)}`)
    }
    throw asLogError(error)
  }
}

async function find({ jsm }: LogConnection, name: string): Promise<StreamInfo | undefined> {
  try {
    return await jsm.streams.info(name)
  } catch (error) {
    if (failureOf(error) === 'not found') return undefined
    throw error
  }
}

async function create(connection: LogConnection, wanted: Wanted): Promise<StreamInfo> {
  try {
    return await connection.jsm.streams.add(wanted)
  } catch (error) {
    // Another process was faster, with other metadata or options: its stream it is.
    const found = failureOf(error) === 'refused' ? await find(connection, wanted.name) : undefined
    if (found === undefined) throw error
    return found
  }
}

function requireOurs({ config }: StreamInfo, wanted: Wanted): void {
  const facts = ['subjects', 'discard', 'storage', 'max_msgs_per_subject'] as const
  for (const fact of facts) {
    const is = JSON.stringify(config[fact])
    const should = JSON.stringify(wanted[fact] ?? -1)
    if (is !== should) throw notOurs(config.name, `its ${fact} is ${is} instead of ${should}`)
  }
}

function notOurs(name: string, why: string): StartError {
  return new StartError(
    `stream ${name} was not made by nownext: ${why}; give nownext a NATS account of its own`,
  )
}

/** Longer retention and more replicas are taken up; less of them never by itself, since it would drop what is kept. */
async function raise(connection: LogConnection, { config }: StreamInfo, wanted: Wanted): Promise<StreamInfo> {
  const maxAge = wanted.max_age ?? 0
  const replicas = wanted.num_replicas ?? 1
  const longer = config.max_age !== 0 && maxAge > config.max_age
  const more = replicas > config.num_replicas
  if (replicas < config.num_replicas || (maxAge !== 0 && (config.max_age === 0 || maxAge < config.max_age))) {
    connection.log.warn(
      { stream: config.name },
      'the stream keeps more than the options ask for; it is left as it is (lower it with `nats stream edit`)',
    )
  }
  if (more && config.persist_mode === PersistMode.Async) {
    throw new StartError(
      `stream ${config.name} was made for one replica and can't get more; remove it (nats stream rm ${config.name}), ` +
        'and it is made anew and folded again from EVENTS',
    )
  }
  if (!longer && !more) return await connection.jsm.streams.info(config.name)
  connection.log.info(
    { stream: config.name, replicas, maxAgeDays: maxAge / nanos(dayMs) },
    'raising the stream',
  )
  return await connection.jsm.streams.update(config.name, {
    ...config,
    ...(longer ? { max_age: maxAge } : {}),
    ...(more ? { num_replicas: replicas } : {}),
  })
}
