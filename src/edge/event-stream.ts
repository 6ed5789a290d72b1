// One stream of server-sent events (rule 26): a response that stays open. The library keeps what a client does not
// read in a buffer without limit, so what cannot be sent at once waits here, and its limit is that of a socket.
import type { Metrics } from '../observe/metrics.ts'
import type { Audience, Client, CloseReason, Stream } from './audience.ts'
import type { Header } from './headers.ts'
import { positionOf } from './record-bytes.ts'
import type { UwsResponse } from './uws.ts'

/** Proxies are not to hold events back. */
export const streamHeaders: readonly Header[] = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-cache'],
  ['X-Accel-Buffering', 'no'],
]

const comment = Buffer.from(':\n\n')
/** A client is told to connect again after so long, each after another time, so that a restart is no storm. */
const retryMs = { least: 1_000, most: 4_000 }

export type EventStreamOptions = {
  readonly audience: Audience
  readonly metrics: Metrics
  readonly maxQueueBytes: number
  /** Called once, when it is over. */
  left(): void
}

export class EventStream implements Stream {
  readonly client: Client
  readonly #options: EventStreamOptions
  readonly #res: UwsResponse
  /** The library's buffer holds something. */
  #blocked = false
  /** Live records that wait for that. */
  readonly #queue: Uint8Array[] = []
  #queuedBytes = 0

  /** res: with status and headers written. */
  constructor(res: UwsResponse, client: Client, options: EventStreamOptions) {
    this.client = client
    this.#options = options
    this.#res = res
    options.audience.joinStream(this)
    res.onWritable(() => this.#writable())
    this.#write(`retry: ${Math.round(retryMs.least + Math.random() * (retryMs.most - retryMs.least))}\n\n`)
  }

  /** For what the client is owed first. */
  send(record: Uint8Array): 0 | 1 {
    return this.#write(eventOf(record)) ? 1 : 0
  }

  /** From now on it gets what is published. */
  live(): void {
    this.client.topic?.liveStreams.add(this)
  }

  deliver(record: Uint8Array): void {
    if (!this.#blocked) {
      this.#write(eventOf(record))
      return
    }
    this.#queue.push(record)
    this.#queuedBytes += record.length
    if (this.#queuedBytes > this.#options.maxQueueBytes) this.cut()
  }

  /** Keeps proxies from taking the connection for dead, and finds out where it is. */
  comment(): void {
    if (!this.#blocked) this.#write(comment)
  }

  end(reason: CloseReason): void {
    if (this.client.topic === null) return
    this.#close(reason)
    // Not with the library's way of closing: it would write that header here, amid the chunks. The head has said so.
    this.#res.cork(() => this.#res.end(''))
  }

  /** Cuts a client that does not read. */
  cut(): void {
    if (this.client.topic === null) return
    this.#close('slow')
    this.#res.close()
  }

  /** The client has gone by itself. */
  gone(): void {
    if (this.client.topic === null) return
    this.#options.audience.leaveStream(this)
    this.#options.left()
  }

  #close(reason: CloseReason): void {
    this.client.closedFor = reason
    this.#options.metrics.edgeClosed.inc({ reason })
    this.gone()
  }

  #write(chunk: string | Uint8Array): boolean {
    let isSent = true
    this.#res.cork(() => {
      isSent = this.#res.write(chunk)
    })
    if (!isSent) this.#blocked = true
    return isSent
  }

  #writable(): boolean {
    if (this.client.topic === null) return true
    // What the library has kept goes out only along with something new.
    this.#blocked = !this.#res.write(comment)
    while (!this.#blocked && this.#queue.length > 0) {
      const record = this.#queue.shift()
      if (record === undefined) break
      this.#queuedBytes -= record.length
      this.#write(eventOf(record))
    }
    if (!this.#blocked) this.client.catchUp?.pump()
    return !this.#blocked
  }
}

/** Made once per record, however many streams it goes to; they go with the record. */
const events = new WeakMap<Uint8Array, Uint8Array>()

/** A record as an event. JSON has no line break, so it is one line; without a position it leaves the last id as it is. */
export function eventOf(record: Uint8Array): Uint8Array {
  let event = events.get(record)
  if (event === undefined) {
    const position = positionOf(record)
    const id = position === '' ? '' : `id: ${position}\n`
    event = Buffer.concat([Buffer.from(`${id}data: `), record, Buffer.from('\n\n')])
    events.set(record, event)
  }
  return event
}
