// The bucket `listener`: sessions and overlays, one value a metaid, with a lapse of its own. Nobody reads all of it:
// a listener is followed only where a client of it is, by one plain subscription to what the bucket republishes.
import { headers, type Msg, type Subscription } from '@nats-io/transport-node'
import { decodeListener, encodeListener, type Listener } from '../domain/listener.ts'
import { asLogError, failureOf, type LogConnection, LogUnavailable, messageOf } from './connection.ts'
import { livePrefix, streams } from './topology.ts'

/** What the bucket says of a metaid. */
export type StoredListener = {
  /** null: no session. */
  listener: Listener | null
  /** 0 where the bucket has nothing, no marker either. */
  revision: number
  /** When it was stored, unix milliseconds on the log's clock; 0 as above. */
  storedMs: number
}

export type ListenersOptions = {
  /** After so long without a sign of life a session lapses (rule 28). Whole seconds. */
  lapseSeconds?: number
}

const defaultLapseSeconds = 24 * 60 * 60
/** What is left of a session that ended: long enough to be seen by an edge that reconnects. */
const markerSeconds = 5 * 60
const subjectPrefix = '$KV.listener.'
const maxConflicts = 16
/** Readings at once; after a reconnect every followed listener is read again. */
const maxReadings = 64
const retryMs = 1_000
const nothing: StoredListener = { listener: null, revision: 0, storedMs: 0 }

type Follow = {
  readonly metaid: string
  readonly callback: (stored: StoredListener) => void
  readonly subscription: Subscription
  revision: number
  /** Live messages so far. */
  heard: number
}

export class Listeners {
  readonly #connection: LogConnection
  readonly #lapseSeconds: number
  readonly #follows = new Set<Follow>()
  readonly #toRead = new Set<Follow>()
  #readings = 0
  readonly #unlisten: () => void

  constructor(connection: LogConnection, options: ListenersOptions = {}) {
    this.#connection = connection
    this.#lapseSeconds = options.lapseSeconds ?? defaultLapseSeconds
    this.#unlisten = connection.onReconnect(() => this.#readAgain([...this.#follows]))
  }

  /** Ends all following. */
  stop(): void {
    this.#unlisten()
    for (const follow of [...this.#follows]) this.#unfollow(follow)
  }

  /**
   * Writes what `step` makes of what is there, or nothing where it returns the same object; null ends the session.
   * It may be called again, where another writer came between. What it throws is thrown; else LogUnavailable.
   * `guess`: nothing is there, most likely, so it is read only if the write is refused.
   */
  async change(
    metaid: string,
    step: (before: Listener | null) => Listener | null,
    guess?: 'nothing',
  ): Promise<Listener | null> {
    for (let conflicts = 0; ; conflicts++) {
      const guessed = guess === 'nothing' && conflicts === 0
      const { listener, revision } = guessed ? nothing : await this.read(metaid)
      const after = step(listener)
      if (after === listener) return after
      try {
        await this.#write(metaid, after, revision)
        return after
      } catch (error) {
        if (failureOf(error) !== 'wrong sequence') throw asLogError(error)
        if (conflicts === maxConflicts) throw new LogUnavailable('others write the same key all the time')
      }
    }
  }

  /** What the leader has. Throws LogUnavailable. */
  async read(metaid: string): Promise<StoredListener> {
    try {
      const query = { last_by_subj: subjectPrefix + keyOf(metaid) }
      const stored = await this.#connection.jsm.streams.getMessage(streams.listener, query)
      if (stored === null) return nothing
      return this.#decode(stored.data, stored.seq, stored.time.getTime())
    } catch (error) {
      throw asLogError(error)
    }
  }

  /** Lets a session live on as it stands; whoever wrote since has done so already. Throws LogUnavailable. */
  async renew(metaid: string, { listener, revision }: StoredListener): Promise<void> {
    if (listener === null) return
    try {
      await this.#write(metaid, listener, revision)
    } catch (error) {
      if (failureOf(error) !== 'wrong sequence') throw asLogError(error)
    }
  }

  /**
   * Calls back, never at once, with what is there and then with every change, until the returned function is called.
   * A change may be told twice, an older one never after a newer.
   */
  follow(metaid: string, callback: (stored: StoredListener) => void): () => void {
    const follow: Follow = {
      metaid,
      callback,
      subscription: this.#connection.nc.subscribe(livePrefix + keyOf(metaid), {
        callback: (error, message) => {
          if (error === null) this.#hear(follow, message)
        },
      }),
      revision: 0,
      heard: 0,
    }
    this.#follows.add(follow)
    this.#readAgain([follow])
    return () => this.#unfollow(follow)
  }

  #unfollow(follow: Follow): void {
    this.#follows.delete(follow)
    this.#toRead.delete(follow)
    follow.subscription.unsubscribe()
  }

  #hear(follow: Follow, message: Msg): void {
    follow.heard++
    const revision = Number(message.headers?.last('Nats-Sequence'))
    const storedMs = Date.parse(message.headers?.last('Nats-Time-Stamp') ?? '')
    this.#tell(follow, this.#decode(message.data, revision, storedMs))
  }

  #tell(follow: Follow, stored: StoredListener): void {
    if (!this.#follows.has(follow)) return
    follow.revision = stored.revision
    follow.callback(stored)
  }

  #readAgain(follows: Follow[]): void {
    for (const follow of follows) this.#toRead.add(follow)
    this.#pump()
  }

  #pump(): void {
    while (this.#readings < maxReadings) {
      const [follow] = this.#toRead
      if (follow === undefined) return
      this.#toRead.delete(follow)
      this.#readings++
      const done = () => {
        this.#readings--
        this.#pump()
      }
      this.#readFor(follow).then(done, error => {
        this.#connection.log.debug({ error: messageOf(error) }, 'a listener could not be read')
        setTimeout(() => this.#follows.has(follow) && this.#readAgain([follow]), retryMs).unref()
        done()
      })
    }
  }

  /** The server knows of the subscription before it is asked, so nothing falls between the two. */
  async #readFor(follow: Follow): Promise<void> {
    const heard = follow.heard
    await this.#connection.nc.flush()
    const stored = await this.read(follow.metaid)
    // Nothing there is news too, unless something was heard meanwhile.
    if (stored.revision === 0 ? follow.heard === heard : stored.revision >= follow.revision) {
      this.#tell(follow, stored)
    }
  }

  /** Each write sets the lapse anew: one without would make the key last for ever. */
  async #write(metaid: string, listener: Listener | null, lastRevision: number): Promise<void> {
    const head = headers()
    if (listener === null) {
      head.set('KV-Operation', 'PURGE')
      head.set('Nats-Rollup', 'sub')
    }
    await this.#connection.js.publish(
      subjectPrefix + keyOf(metaid),
      listener === null ? '' : encodeListener(listener),
      {
        headers: head,
        ttl: `${listener === null ? markerSeconds : this.#lapseSeconds}s`,
        expect: { lastSubjectSequence: lastRevision },
      },
    )
  }

  /** A marker of any kind (ended, lapsed) has no data. */
  #decode(data: Uint8Array, revision: number, storedMs: number): StoredListener {
    if (data.length === 0) return { listener: null, revision, storedMs }
    try {
      const json = Buffer.from(data.buffer, data.byteOffset, data.length).toString()
      return { listener: decodeListener(json), revision, storedMs }
    } catch (error) {
      this.#connection.log.error({ error: messageOf(error) }, 'a listener cannot be read')
      return { listener: null, revision, storedMs }
    }
  }
}

/** A metaid may hold `.` and `~`, which no key may. */
function keyOf(metaid: string): string {
  return Buffer.from(metaid).toString('base64url')
}
