// The history for players (rule 27): how much of it a channel's option lets them see.

import { Problem } from '../api/errors.ts'
import {
  encodeHistory,
  type HistoryForm,
  historyContentType,
  nextLink,
  nextPage,
  readHistoryQuery,
} from '../api/history.ts'
import { encodeRow } from '../domain/history.ts'
import type { Channel } from '../domain/registry.ts'
import { zoneOf } from '../domain/registry.ts'
import { historyValueOf } from '../log/channel-past.ts'
import type { ChannelUpdate } from '../log/channel-watch.ts'
import type { LogConnection } from '../log/connection.ts'
import { LogUnavailable } from '../log/connection.ts'
import { History, type HistoryChannel, type HistoryPage, type HistoryRequest } from '../log/history.ts'
import { NewestValues } from '../log/newest-values.ts'
import { defaultReadLimits, ReadBudget, type ReadLimits, TooManyReads } from '../log/read-budget.ts'
import type { Registry } from '../log/registry.ts'
import type { Topology } from '../log/topology.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Directory } from './directory.ts'
import type { Exchange } from './exchange.ts'
import { type Header, preflight, represent } from './headers.ts'
import { refuseBody, requireLoaded, type Serving } from './poll.ts'
import { etagged } from './representation.ts'

const historyPath = /^\/metadata\/(channel|station)\/([^/]+)\/history\.(json|csv)$/

type HistoryRoute = { scope: 'channel' | 'station'; key: string; form: HistoryForm }

export type EdgeHistoryOptions = {
  connection: LogConnection
  topology: Topology
  registry: Registry
  metrics: Metrics
  historyReads?: ReadLimits
}

export class EdgeHistory {
  readonly #registry: Registry
  readonly #metrics: Metrics
  readonly #newest = new NewestValues()
  readonly #history: History

  constructor({
    connection,
    topology,
    registry,
    metrics,
    historyReads = defaultReadLimits,
  }: EdgeHistoryOptions) {
    this.#registry = registry
    this.#metrics = metrics
    const budget = new ReadBudget(historyReads, metrics.historyReading)
    this.#history = new History({ connection, topology, budget, newest: this.#newest })
  }

  /** A change of a channel, in the order of the log. */
  changed({ channelkey, sequence, value }: ChannelUpdate): void {
    if (!this.#newest.follows(channelkey)) return
    this.#newest.changed(channelkey, value === null ? null : historyValueOf(sequence, value.toString()))
  }

  stop(): Promise<void> {
    return this.#history.close()
  }

  /** undefined: the path is none of the history's. Rejects with a Problem. */
  serve(exchange: Exchange, serving: Serving): Promise<void> | undefined {
    const [, scope, key, form] = historyPath.exec(exchange.path) ?? []
    if (key === undefined) return undefined
    return this.#serve(exchange, serving, { scope, key, form } as HistoryRoute)
  }

  async #serve(exchange: Exchange, serving: Serving, route: HistoryRoute): Promise<void> {
    const { method, path, query, headers } = exchange
    if (method !== 'get' && method !== 'head' && method !== 'options') throw new Problem('method-not-allowed')
    refuseBody(exchange)
    if (method === 'options') return exchange.reply(preflight)
    requireLoaded(serving)
    const parameters = new URLSearchParams(query)
    const { channels, zone } = await this.#visible(route, serving.directory)
    const { filter, ...place } = readHistoryQuery(parameters, {
      nowMs: Date.now(),
      zone,
      sequenceOf: position => this.#history.sequenceOf(position),
    })
    const stationkey = route.scope === 'station' ? route.key : null
    const page = await this.#page({ channels, filter: { ...filter, stationkey }, ...place })
    const text = await encodeHistory(route.form, page.rows, encodeRow, sequence =>
      this.#history.positionOf(sequence),
    )
    const answer = represent(etagged(historyContentType(route.form), Buffer.from(text)), headers.ifNoneMatch)
    const next = page.next === null ? [] : [this.#linkTo(path, parameters, page.next)]
    exchange.reply({ ...answer, headers: [...answer.headers, ...next] }, serving.draining())
  }

  #linkTo(path: string, parameters: URLSearchParams, sequence: number): Header {
    return ['Link', nextLink(nextPage(path, parameters, this.#history.positionOf(sequence)))]
  }

  /** The channels whose history players may see; of those of a station, the ones that are not off. */
  async #visible(
    { scope, key }: HistoryRoute,
    directory: Directory,
  ): Promise<{ channels: HistoryChannel[]; zone: string }> {
    if (scope === 'station') {
      // Which channels a station has, only the whole registry tells.
      if (!this.#registry.isWhole) throw new Problem('loading', undefined, { retryAfter: 1 })
      const station = await directory.find('station', key)
      const zone = station.value.timezone ?? 'UTC'
      const channels = this.#registry.channels(key).filter(({ history }) => history !== 'off')
      return { channels: channels.map(historyChannel), zone }
    }
    const { value: channel } = await directory.find('channel', key)
    if (channel.history === 'off')
      throw new Problem('not-found', 'The history of this channel is not public.')
    return { channels: [historyChannel(channel)], zone: await this.#zoneOf(channel, directory) }
  }

  /** A channel may name a station that is not there. */
  async #zoneOf(channel: Channel, directory: Directory): Promise<string> {
    if (channel.timezone !== null) return channel.timezone
    try {
      return zoneOf(channel, (await directory.find('station', channel.station)).value)
    } catch (error) {
      if (error instanceof Problem && error.code === 'unknown-station') return 'UTC'
      throw error
    }
  }

  async #page(request: HistoryRequest): Promise<HistoryPage> {
    try {
      return await this.#history.page(request)
    } catch (error) {
      if (error instanceof LogUnavailable)
        throw new Problem('unavailable', 'The history cannot be read now.', { retryAfter: 1 })
      if (!(error instanceof TooManyReads)) throw error
      this.#metrics.edgeRejected.inc({ limit: 'history' })
      throw new Problem('too-many-reads', undefined, { retryAfter: 1 })
    }
  }
}

function historyChannel({ key, history }: Channel): HistoryChannel {
  return { channelkey: key, recent: history === 'recent' }
}
