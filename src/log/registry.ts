// The bucket `registry`: stations and channels, watched by every role, written by the console.
import type { Channel, ChannelSettings, Station } from '../domain/registry.ts'
import { Bucket, type Entry, type Known } from './bucket.ts'
import type { LogConnection } from './connection.ts'

export type RegistryEntry<T> = Entry<T>

export type RegistryListener = {
  channelRemoved?(channelkey: string, revision: number): void
  changed?(): void
}

const stationPrefix = 'station.'
const channelPrefix = 'channel.'

export class Registry {
  readonly #bucket: Bucket<Station | Channel>

  constructor(connection: LogConnection) {
    this.#bucket = new Bucket(connection, 'registry')
  }

  /** Begins to follow the registry, once; resolves when all of it is read. */
  start(): Promise<void> {
    return this.#bucket.start()
  }

  /** Whether all of it was read. Until then what is not here may be there: findChannel and findStation tell. */
  get isWhole(): boolean {
    return this.#bucket.isWhole
  }

  async stop(): Promise<void> {
    this.#bucket.stop()
  }

  /** Tells of every change after start, our own included; returns a function that ends it. */
  listen(listener: RegistryListener): () => void {
    return this.#bucket.listen((key, value, revision) => {
      if (value === undefined && key.startsWith(channelPrefix)) {
        listener.channelRemoved?.(key.slice(channelPrefix.length), revision)
      }
      listener.changed?.()
    })
  }

  /** What is known here and now. */
  station(key: string): RegistryEntry<Station> | undefined {
    return this.#bucket.get(stationPrefix + key) as RegistryEntry<Station> | undefined
  }

  channel(key: string): RegistryEntry<Channel> | undefined {
    return this.#bucket.get(channelPrefix + key) as RegistryEntry<Channel> | undefined
  }

  /** The channels that are known to have been removed, and not made anew. */
  *removedChannels(): Iterable<string> {
    for (const key of this.#bucket.removed(channelPrefix)) yield key.slice(channelPrefix.length)
  }

  /** Ordered by key. */
  stations(): Station[] {
    return this.#values<Station>(stationPrefix)
  }

  /** All channels, or those of one station, ordered by key. */
  channels(station?: string): Channel[] {
    const all = this.#values<Channel>(channelPrefix)
    return station === undefined ? all : all.filter(channel => channel.station === station)
  }

  #values<T extends Station | Channel>(prefix: string): T[] {
    const values = [...this.#bucket.entries(prefix)].map(([, entry]) => entry.value as T)
    return values.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** Like channel() and station(), but one not yet seen is looked up once before it is said to be unknown; a miss is remembered for 1 s. Throws LogUnavailable. */
  findChannel(key: string): Promise<RegistryEntry<Channel> | undefined> {
    return this.#bucket.find(channelPrefix + key) as Promise<RegistryEntry<Channel> | undefined>
  }

  /** What the log says of it now, whatever was seen of it here. Throws LogUnavailable. */
  readChannel(key: string): Promise<RegistryEntry<Channel> | undefined> {
    return this.#bucket.read(channelPrefix + key) as Promise<RegistryEntry<Channel> | undefined>
  }

  findStation(key: string): Promise<RegistryEntry<Station> | undefined> {
    return this.#bucket.find(stationPrefix + key) as Promise<RegistryEntry<Station> | undefined>
  }

  /** Resolves to the new revision. Throws LogUnavailable. */
  async putStation(station: Station): Promise<number> {
    return (await this.#bucket.put(stationPrefix + station.key, station)).revision
  }

  /** Resolves to the new revision, and whether the channel was new. Throws LogUnavailable. */
  putChannel(channel: ChannelSettings): Promise<{ revision: number; created: boolean }> {
    return this.#bucket.putAfter(channelPrefix + channel.key, before => ({
      ...channel,
      life: lifeAfter(before as Known<Channel> | undefined),
    }))
  }

  /** false where there was none. Throws LogUnavailable. */
  async removeStation(key: string): Promise<boolean> {
    return (await this.#bucket.remove(stationPrefix + key)) !== undefined
  }

  /** The revision is that of the removal, greater than all before it; 0 where there was none. Throws LogUnavailable. */
  async removeChannel(key: string): Promise<{ removed: boolean; revision: number }> {
    const revision = await this.#bucket.remove(channelPrefix + key)
    return { removed: revision !== undefined, revision: revision ?? 0 }
  }

  /** The revision at which the channel was removed, 0 where it is there or never was. Throws LogUnavailable. */
  channelRemoval(key: string): Promise<number> {
    return this.#bucket.removal(channelPrefix + key)
  }
}

/** A channel that is there keeps its life; else that begins with the removal before, 0 where there was none. */
function lifeAfter(before: Known<Channel> | undefined): number {
  if (before?.value !== undefined) return before.value.life ?? 0
  return before?.revision ?? 0
}
