// The bucket `token`: push tokens as SHA-256, watched by the intake and the console. Key `<channelkey>.<id>`,
// where id is the beginning of the hash: so one token is one look-up.
import { hash as digest, timingSafeEqual } from 'node:crypto'
import { Bucket } from './bucket.ts'
import type { LogConnection } from './connection.ts'
import { readLast } from './direct.ts'
import { streams } from './topology.ts'

export type TokenInfo = { id: string; label: string; createdAt: string }

type StoredToken = { hash: string; label: string; createdAt: string }

/** Hex digits of the hash that make the id. */
const idLength = 16
const subjectPrefix = '$KV.token.'

export class Tokens {
  readonly #connection: LogConnection
  readonly #bucket: Bucket<StoredToken>

  constructor(connection: LogConnection) {
    this.#connection = connection
    this.#bucket = new Bucket(connection, 'token')
  }

  /** Resolves when all tokens are read; keeps following them. */
  start(): Promise<void> {
    return this.#bucket.start()
  }

  async stop(): Promise<void> {
    this.#bucket.stop()
  }

  /** Like matches, by what is known here and now. */
  matchesHere(channelkey: string, token: string): boolean {
    const hash = hashOf(token)
    const entry = this.#bucket.get(keyOf(channelkey, idOf(hash)))
    return entry !== undefined && equal(entry.value.hash, hash)
  }

  /** Whether the token is one of this channel's; compared in constant time; one not yet seen is looked up once. Throws LogUnavailable. */
  async matches(channelkey: string, token: string): Promise<boolean> {
    const hash = hashOf(token)
    const entry = await this.#bucket.find(keyOf(channelkey, idOf(hash)))
    return entry !== undefined && equal(entry.value.hash, hash)
  }

  /** Adds a token, or gives it a new label. Throws LogUnavailable. */
  async add(channelkey: string, token: string, label: string): Promise<TokenInfo> {
    const hash = hashOf(token)
    const stored = { hash, label, createdAt: new Date().toISOString() }
    await this.#bucket.put(keyOf(channelkey, idOf(hash)), stored)
    return infoOf(stored)
  }

  /** Oldest first. */
  async list(channelkey: string): Promise<TokenInfo[]> {
    const infos = [...this.#bucket.entries(`${channelkey}.`)].map(([, entry]) => infoOf(entry.value))
    return infos.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  }

  /** false where there was none. Throws LogUnavailable. */
  async revoke(channelkey: string, id: string): Promise<boolean> {
    return (await this.#bucket.remove(keyOf(channelkey, id))) !== undefined
  }

  /** Revokes every token of the channel, those of other consoles not yet seen here too. Throws LogUnavailable. */
  async revokeAll(channelkey: string): Promise<void> {
    const stored = await readLast(this.#connection, streams.token, [
      `${subjectPrefix}${keyOf(channelkey, '*')}`,
    ])
    const keys = new Set(stored.map(({ subject }) => subject.slice(subjectPrefix.length)))
    for (const [key] of this.#bucket.entries(`${channelkey}.`)) keys.add(key)
    await Promise.all([...keys].map(key => this.#bucket.remove(key)))
  }
}

function keyOf(channelkey: string, id: string): string {
  return `${channelkey}.${id}`
}

/** Tokens are random, so a plain hash keeps them; it is also all that is ever compared. */
function hashOf(token: string): string {
  return digest('sha256', token)
}

function idOf(hash: string): string {
  return hash.slice(0, idLength)
}

function infoOf({ hash, label, createdAt }: StoredToken): TokenInfo {
  return { id: idOf(hash), label, createdAt }
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
