// The bucket `mount`: the Icecast mounts of each channel with their credentials, written by the console, and beside
// them how they fare, written by the icecast role. Nobody else reads it.
import type { Mount, MountState } from '../domain/mount.ts'
import { Bucket } from './bucket.ts'
import type { LogConnection } from './connection.ts'

export type MountListener = (channelkey: string, mounts: readonly Mount[]) => void

const mountsPrefix = 'channel.'
const statePrefix = 'state.'

export class Mounts {
  readonly #bucket: Bucket<Mount[] | MountState[]>

  constructor(connection: LogConnection) {
    this.#bucket = new Bucket(connection, 'mount')
  }

  /** Resolves when all mounts are read; keeps following them. */
  start(): Promise<void> {
    return this.#bucket.start()
  }

  async stop(): Promise<void> {
    this.#bucket.stop()
  }

  /** Tells of every change of a channel's mounts after start, our own included; returns a function that ends it. */
  listen(listener: MountListener): () => void {
    return this.#bucket.listen((key, value) => {
      if (key.startsWith(mountsPrefix)) listener(key.slice(mountsPrefix.length), (value ?? []) as Mount[])
    })
  }

  /** The channels that have mounts, as known here and now. */
  *channels(): Iterable<[channelkey: string, mounts: readonly Mount[]]> {
    for (const [key, entry] of this.#bucket.entries(mountsPrefix)) {
      yield [key.slice(mountsPrefix.length), entry.value as Mount[]]
    }
  }

  /** With passwords; what is known here and now. */
  get(channelkey: string): readonly Mount[] {
    return (this.#bucket.get(mountsPrefix + channelkey)?.value ?? []) as Mount[]
  }

  /** Like get, but a channel's mounts not yet seen here are looked up once. Throws LogUnavailable. */
  async find(channelkey: string): Promise<readonly Mount[]> {
    return ((await this.#bucket.find(mountsPrefix + channelkey))?.value ?? []) as Mount[]
  }

  /** Replaces all mounts of a channel. Throws LogUnavailable. */
  async put(channelkey: string, mounts: readonly Mount[]): Promise<void> {
    if (mounts.length === 0) await this.#bucket.remove(mountsPrefix + channelkey)
    else await this.#bucket.put(mountsPrefix + channelkey, [...mounts])
  }

  /** Mounts and states of a channel that goes. Throws LogUnavailable. */
  async remove(channelkey: string): Promise<void> {
    await this.#bucket.remove(mountsPrefix + channelkey)
    await this.#bucket.remove(statePrefix + channelkey)
  }

  /** How the channel's mounts fare, as the icecast role last wrote it. */
  states(channelkey: string): readonly MountState[] {
    return (this.#bucket.get(statePrefix + channelkey)?.value ?? []) as MountState[]
  }

  /** Throws LogUnavailable. */
  async putStates(channelkey: string, states: readonly MountState[]): Promise<void> {
    if (states.length === 0) await this.#bucket.remove(statePrefix + channelkey)
    else await this.#bucket.put(statePrefix + channelkey, [...states])
  }
}
