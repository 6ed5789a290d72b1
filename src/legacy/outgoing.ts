// What waits to be written to one socket, in order. A snapshot waits as references to the shared bytes and is turned
// into messages as the socket drains, so that a station of any size fits through; what is live has a limit.
import type { WebSocket } from 'ws'

export type OutgoingOptions = {
  ws: Pick<WebSocket, 'send' | 'bufferedAmount'>
  /** Bytes of live messages that may wait. */
  maxLiveBytes: number
  /** More waits than may. */
  overrun(): void
  /** Something that waited was taken by the socket. */
  progress(): void
}

type Waiting = {
  /** The subscription that it belongs to; null: none. */
  path: string | null
  /** Bytes, where it counts against the limit; else 0. */
  liveBytes: number
  make(): Buffer | string
}

/** The socket is given no more while it has so much. Bytes. */
const enough = 64 * 1024

export class Outgoing {
  readonly #options: OutgoingOptions
  #waiting: Waiting[] = []
  /** The first in #waiting that was not sent. */
  #at = 0
  #liveBytes = 0

  constructor(options: OutgoingOptions) {
    this.#options = options
  }

  /** Sends a message as soon as everything before it is sent. */
  sendLive(path: string | null, message: Buffer | string): void {
    const liveBytes = Buffer.byteLength(message)
    this.#liveBytes += liveBytes
    this.#waiting.push({ path, liveBytes, make: () => message })
    this.#pump()
    if (this.#liveBytes > this.#options.maxLiveBytes) this.#options.overrun()
  }

  /** Likewise, but made only when its turn comes, and not counted. */
  sendOwed(path: string, make: () => Buffer): void {
    this.#waiting.push({ path, liveBytes: 0, make })
    this.#pump()
  }

  /** Forgets what waits for a subscription that is no more. */
  forget(path: string): void {
    const left = this.#waiting.slice(this.#at)
    this.#waiting = left.filter(waiting => waiting.path !== path)
    this.#at = 0
    this.#liveBytes = this.#waiting.reduce((sum, { liveBytes }) => sum + liveBytes, 0)
  }

  #pump(): void {
    const { ws, progress } = this.#options
    while (ws.bufferedAmount < enough) {
      const next = this.#waiting[this.#at]
      if (next === undefined) break
      this.#at++
      this.#liveBytes -= next.liveBytes
      // A record is text, though its bytes are at hand. An error is the socket's, and ends it.
      ws.send(next.make(), { binary: false }, error => {
        if (error) return
        if (this.#at < this.#waiting.length) progress()
        this.#pump()
      })
    }
    if (this.#at < this.#waiting.length) return
    this.#waiting = []
    this.#at = 0
  }
}
