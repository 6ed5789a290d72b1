// Pages of the history of a channel or a station (rule 27).
import { performance } from 'node:perf_hooks'
import type { PlayFilter, PlayRow } from '../domain/history.ts'
import type { HistoryValue } from '../domain/value.ts'
import { ChannelPast } from './channel-past.ts'
import { ChannelPlays } from './channel-plays.ts'
import type { LogConnection } from './connection.ts'
import type { NewestValues } from './newest-values.ts'
import { OwnConnection } from './own-connection.ts'
import { decodePosition, encodePosition } from './position.ts'
import type { ReadBudget } from './read-budget.ts'
import type { Topology } from './topology.ts'

export type PageCost = { values: number; ms: number }

/** What one page may cost. Past it, it ends early and names where it goes on. */
const maxPageCost: PageCost = { values: 4000, ms: 5000 }
/** So many times that where it has not come further back than where it began: each page reads a `recent` channel anew. */
const patience = 2

/** recent: only the newest plays, without extdata. */
export type HistoryChannel = { channelkey: string; recent: boolean }

export type HistoryRequest = {
  channels: readonly HistoryChannel[]
  filter: PlayFilter
  /** Only what began before this sequence; null: all. */
  before: number | null
  /** Rows, 1 to 1000. */
  limit: number
}

export type HistoryPage = {
  /** The newest first, in the order of the log. */
  rows: PlayRow[]
  /** The sequence before which the next page goes on, always further back than `before`; null: this is the last one. */
  next: number | null
}

export type HistoryOptions = {
  connection: LogConnection
  topology: Topology
  budget: ReadBudget
  /** Kept up by a watch; without one, every page is read from the log. */
  newest?: NewestValues
  /** What a page may cost, other than by default. */
  maxCost?: PageCost
}

export class History {
  readonly #options: HistoryOptions
  readonly #connection: OwnConnection

  constructor(options: HistoryOptions) {
    this.#options = options
    this.#connection = new OwnConnection(options.connection, 'history')
  }

  /** Throws LogUnavailable, and TooManyReads. */
  page(request: HistoryRequest): Promise<HistoryPage> {
    return this.#options.budget.run(beforeRead => {
      const connect = async () => {
        await beforeRead()
        return await this.#connection.get()
      }
      return this.#page(new ChannelPast(connect), request)
    })
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  positionOf(sequence: number): string {
    return encodePosition(this.#options.topology.incarnation, { sequence, slot: 1 })
  }

  /** The sequence of a position; null: malformed, of another incarnation of the log, or of none of its values. */
  sequenceOf(position: string): number | null {
    const place = decodePosition(position)
    if (place?.incarnation !== this.#options.topology.incarnation || place.sequence === 0) return null
    return place.sequence
  }

  async #page(past: ChannelPast, request: HistoryRequest): Promise<HistoryPage> {
    const keep = new Map(keysOf(request.channels).map(key => [key, this.#options.newest?.reading(key)]))
    const channels = new Map<string, ChannelPlays>()
    try {
      await this.#open(past, request, channels)
      return await collect(past, request, [...channels.values()], this.#options.maxCost ?? maxPageCost)
    } finally {
      for (const [key, take] of keep) take?.(channels.get(key)?.newest ?? [])
    }
  }

  async #open(
    past: ChannelPast,
    { channels, before, filter }: HistoryRequest,
    opened: Map<string, ChannelPlays>,
  ): Promise<void> {
    // Nothing is before the first; to the log, up to sequence 0 means all.
    if (before !== null && before <= 1) return
    const heads = await this.#heads(past, keysOf(channels))
    const isPast = ({ channelkey, recent }: HistoryChannel) =>
      before !== null && !recent && (heads.get(channelkey)?.[0]?.sequence ?? 0) >= before
    const older = await past.last(keysOf(channels.filter(isPast)), { sequence: (before ?? 1) - 1 })
    for (const channel of channels) {
      const { channelkey, recent } = channel
      const [newest, ...known] = heads.get(channelkey) ?? []
      const hasLater = isPast(channel)
      const head = hasLater ? older.get(channelkey) : newest
      if (head === undefined || head.life !== newest?.life) continue
      const request = { channelkey, head, known: hasLater ? [] : known, hasLater, recent, filter }
      opened.set(channelkey, new ChannelPlays(past, request))
    }
  }

  /** The newest values of each channel, without a gap; one at least, where it has any. */
  async #heads(past: ChannelPast, channelkeys: string[]): Promise<Map<string, readonly HistoryValue[]>> {
    const heads = new Map<string, readonly HistoryValue[]>()
    for (const channelkey of channelkeys) {
      const values = this.#options.newest?.get(channelkey) ?? []
      if (values.length > 0) heads.set(channelkey, values)
    }
    const unknown = channelkeys.filter(channelkey => !heads.has(channelkey))
    for (const [channelkey, value] of await past.last(unknown, null)) heads.set(channelkey, [value])
    return heads
  }
}

/** Merges the channels' rows until the page is full, or has cost enough. */
async function collect(
  past: ChannelPast,
  { limit, before }: HistoryRequest,
  channels: ChannelPlays[],
  maxCost: PageCost,
): Promise<HistoryPage> {
  const rows: PlayRow[] = []
  const startMs = performance.now()
  const cost = () => Math.max(past.valuesRead / maxCost.values, (performance.now() - startMs) / maxCost.ms)
  // One row more than asked for: it tells whether there is a next page.
  while (rows.length <= limit) {
    const channel = latest(channels)
    if (channel === undefined) return { rows, next: null }
    const next = channel.bound + 1
    const row = channel.shift()
    if (row !== undefined) {
      if (before === null || row.sequence < before) rows.push(row)
    } else if (cost() >= 1 && (before === null || next < before)) return { rows, next }
    else if (cost() >= patience) return { rows, next: null }
    else await channel.readOn(limit + 2 - rows.length)
  }
  return { rows: rows.slice(0, limit), next: rows[limit - 1]?.sequence ?? null }
}

function keysOf(channels: readonly HistoryChannel[]): string[] {
  return channels.map(({ channelkey }) => channelkey)
}

/** The one that may have the newest row; undefined: none has any. */
function latest(channels: ChannelPlays[]): ChannelPlays | undefined {
  let found: ChannelPlays | undefined
  for (const channel of channels) if (channel.bound > (found?.bound ?? 0)) found = channel
  return found
}
