// A small bucket held in memory and followed: the base of the registry and the tokens.
import { performance } from 'node:perf_hooks'
import { headers } from '@nats-io/transport-node'
import { asLogError, failureOf, type LogConnection, LogUnavailable, messageOf } from './connection.ts'
import { Follower, isMarker } from './follow.ts'

export type Entry<T> = { value: T; revision: number }

export type BucketListener<T> = (key: string, value: T | undefined, revision: number) => void

/** What is known of a key; a removed one keeps its revision, so that nothing older comes back. */
export type Known<T> = { value: T | undefined; revision: number }

/** How long a key that was looked up in vain is taken for missing. */
const missMs = 1_000
const maxMisses = 10_000
const maxConflicts = 16

/**
 * Its values are JSON. Whoever writes sees the write at once in their own copy. A reader that is behind may miss
 * values that were soon superseded (one value a key is kept), never the last one.
 */
export class Bucket<T> {
  readonly #connection: LogConnection
  readonly #name: string
  readonly #known = new Map<string, Known<T>>()
  readonly #misses = new Map<string, number>()
  readonly #listeners = new Set<BucketListener<T>>()
  readonly #follower: Follower
  readonly #ready: Promise<void>
  #started: Promise<void> | undefined
  #caughtUp = false

  constructor(connection: LogConnection, name: string) {
    this.#connection = connection
    this.#name = name
    const { promise, resolve } = withResolvers()
    this.#ready = promise
    this.#follower = new Follower(connection, name, {
      update: ({ key, sequence, data }) => this.#apply(key, this.#decode(key, data), sequence),
      caughtUp: () => {
        this.#caughtUp = true
        resolve()
      },
    })
  }

  /** Begins to follow, once; resolves when all of it is read, and keeps following. */
  start(): Promise<void> {
    this.#started ??= this.#follower.start().then(() => this.#ready)
    return this.#started
  }

  /** Whether all of it was read: a key that is not here is then one that was not there. */
  get isWhole(): boolean {
    return this.#caughtUp
  }

  stop(): void {
    this.#follower.stop()
  }

  /** Calls back with every change after the first reading, our own included; returns a function that ends it. */
  listen(listener: BucketListener<T>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** What is known here and now. */
  get(key: string): Entry<T> | undefined {
    return entryOf(this.#known.get(key))
  }

  *entries(prefix: string): Iterable<[string, Entry<T>]> {
    for (const [key, known] of this.#known) {
      const entry = key.startsWith(prefix) ? entryOf(known) : undefined
      if (entry !== undefined) yield [key, entry]
    }
  }

  /** The keys that are known to have been removed. */
  *removed(prefix: string): Iterable<string> {
    for (const [key, { value }] of this.#known) if (value === undefined && key.startsWith(prefix)) yield key
  }

  /** Like get, but a key not seen here is looked up before it is said to be missing; that is remembered for 1 s. Throws LogUnavailable. */
  async find(key: string): Promise<Entry<T> | undefined> {
    const entry = this.get(key)
    if (entry !== undefined) return entry
    const nowMs = performance.now()
    if ((this.#misses.get(key) ?? Number.NEGATIVE_INFINITY) > nowMs) return undefined
    const found = entryOf(await this.#load(key))
    if (found === undefined) {
      if (this.#misses.size >= maxMisses) this.#misses.clear()
      this.#misses.set(key, nowMs + missMs)
    }
    return found
  }

  /** What the server's leader has now; taken up here too. Throws LogUnavailable. */
  async read(key: string): Promise<Entry<T> | undefined> {
    return entryOf(await this.#load(key))
  }

  /** Writes, and resolves to the new revision and whether the key had no value before, whoever writes at the same time. Throws LogUnavailable. */
  put(key: string, value: T): Promise<{ revision: number; created: boolean }> {
    return this.putAfter(key, () => value)
  }

  /** Like put; the value is made from what is there, which may be a removal. May be called again where others write too. */
  async putAfter(
    key: string,
    valueAfter: (before: Known<T> | undefined) => T,
  ): Promise<{ revision: number; created: boolean }> {
    return await this.#change(key, async before => {
      const value = valueAfter(before)
      const revision = await this.#publish(key, JSON.stringify(value), before?.revision ?? 0)
      this.#apply(key, value, revision)
      return { revision, created: before?.value === undefined }
    })
  }

  /** Removes; resolves to the removal's revision, or undefined where there was nothing. Throws LogUnavailable. */
  async remove(key: string): Promise<number | undefined> {
    return await this.#change(key, async before => {
      if (before?.value === undefined) return undefined
      const revision = await this.#publish(key, null, before.revision)
      this.#apply(key, undefined, revision)
      return revision
    })
  }

  /** The revision at which the key was removed, 0 where it has a value or never had one. Throws LogUnavailable. */
  async removal(key: string): Promise<number> {
    const known = await this.#load(key)
    return known !== undefined && known.value === undefined ? known.revision : 0
  }

  /** Compare-and-set on what the server's leader says, until nobody came between. */
  async #change<R>(key: string, write: (before: Known<T> | undefined) => Promise<R>): Promise<R> {
    for (let conflicts = 0; ; conflicts++) {
      const before = await this.#load(key)
      try {
        return await write(before)
      } catch (error) {
        if (failureOf(error) !== 'wrong sequence') throw asLogError(error)
        if (conflicts === maxConflicts) throw new LogUnavailable('others write the same key all the time')
      }
    }
  }

  async #publish(key: string, data: string | null, lastRevision: number): Promise<number> {
    const head = headers()
    if (data === null) head.set('KV-Operation', 'DEL')
    const ack = await this.#connection.js.publish(`$KV.${this.#name}.${key}`, data ?? '', {
      headers: head,
      expect: { lastSubjectSequence: lastRevision },
    })
    return ack.seq
  }

  /** What the leader has; a direct get could be answered by a replica that is behind. */
  async #load(key: string): Promise<Known<T> | undefined> {
    try {
      const query = { last_by_subj: `$KV.${this.#name}.${key}` }
      const stored = await this.#connection.jsm.streams.getMessage(`KV_${this.#name}`, query)
      if (stored === null) return undefined
      const value = this.#decode(key, isMarker(stored.header) ? null : stored.data)
      this.#apply(key, value, stored.seq)
      return { value, revision: stored.seq }
    } catch (error) {
      if (failureOf(error) === 'not found') return undefined
      throw asLogError(error)
    }
  }

  #decode(key: string, data: Uint8Array | null): T | undefined {
    if (data === null) return undefined
    try {
      return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString())
    } catch (error) {
      this.#connection.log.error({ bucket: this.#name, key, error: messageOf(error) }, 'an entry is not JSON')
      return undefined
    }
  }

  /** The newest revision wins, so our own write and its echo, in whatever order, make one change. */
  #apply(key: string, value: T | undefined, revision: number): void {
    if (revision <= (this.#known.get(key)?.revision ?? 0)) return
    this.#known.set(key, { value, revision })
    this.#misses.delete(key)
    if (!this.#caughtUp) return
    for (const listener of [...this.#listeners]) listener(key, value, revision)
  }
}

function entryOf<T>(known: Known<T> | undefined): Entry<T> | undefined {
  return known?.value === undefined ? undefined : { value: known.value, revision: known.revision }
}

/** Promise.withResolvers came with Node 22. */
function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>(r => {
    resolve = r
  })
  return { promise, resolve }
}
