// The bucket `registry`: stations and channels, watched by every role, written by the console.
import type { Channel, Station } from '../domain/registry.ts'
import type { LogConnection } from './connection.ts'

export type RegistryEntry<T> = { value: T; revision: number }

export type RegistryListener = {
  channelRemoved?(channelkey: string, revision: number): void
  changed?(): void
}

export class Registry {
  constructor(_connection: LogConnection) {}
  /** Resolves when the whole registry is read; keeps following it. */
  start(): Promise<void> {
    throw new Error('not built')
  }
  stop(): Promise<void> {
    throw new Error('not built')
  }
  listen(_listener: RegistryListener): () => void {
    throw new Error('not built')
  }

  /** What is known here and now. */
  station(_key: string): RegistryEntry<Station> | undefined {
    throw new Error('not built')
  }
  channel(_key: string): RegistryEntry<Channel> | undefined {
    throw new Error('not built')
  }
  stations(): Station[] {
    throw new Error('not built')
  }
  channels(_station?: string): Channel[] {
    throw new Error('not built')
  }

  /** Like channel() and station(), but one not yet seen is looked up once before it is said to be unknown; a miss is remembered for 1 s. Throws LogUnavailable. */
  findChannel(_key: string): Promise<RegistryEntry<Channel> | undefined> {
    throw new Error('not built')
  }
  findStation(_key: string): Promise<RegistryEntry<Station> | undefined> {
    throw new Error('not built')
  }

  putStation(_station: Station): Promise<number> {
    throw new Error('not built')
  }
  /** Resolves to the new revision, and whether the channel was new. */
  putChannel(_channel: Channel): Promise<{ revision: number; created: boolean }> {
    throw new Error('not built')
  }
  /** false where there was none. The revision is that of the removal. */
  removeStation(_key: string): Promise<boolean> {
    throw new Error('not built')
  }
  removeChannel(_key: string): Promise<{ removed: boolean; revision: number }> {
    throw new Error('not built')
  }
}
