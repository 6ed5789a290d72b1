// Stands between a new connection and the HTTP server: reads the first request head, mends it (rule 10), gives the
// bytes back to the socket and hands it on. Encoders open a connection per push, so the first head is what counts;
// later ones on a kept connection go to the parser as they are.
import type { Socket } from 'node:net'
import { Problem } from '../api/errors.ts'
import type { Metrics } from '../observe/metrics.ts'
import { refuseUnread } from './let-in.ts'
import { headEnd, leadingLineEnds, mendHead } from './mend.ts'

/** Request line to empty line, as sent. */
export const maxHeadBytes = 16 * 1024
/** A mended head grows: each byte of its target may become three, and a version may be added. */
export const maxMendedHeadBytes = 3 * maxHeadBytes + 64
const defaultHeadTimeoutMs = 10_000
export const defaultMaxPending = 1_024

export type FrontOptions = {
  /** Takes a connection whose first head is mended and waits in the socket again. */
  handOn(socket: Socket): void
  metrics: Pick<Metrics, 'intakeRejected' | 'intakeFirstHeads'>
  /** Connections that are still in their first head; past it the oldest is refused: it is the one least likely to be an encoder. */
  maxPending?: number
  headTimeoutMs?: number
}

type Pending = {
  readonly socket: Socket
  bytes: Buffer
  /** Ends the wait for the head and removes the listeners. */
  release(): void
}

type Limit = 'head' | 'head-time' | 'first-heads'

export class RudeFront {
  readonly #options: Required<FrontOptions>
  /** Oldest first. */
  readonly #pending = new Set<Pending>()

  constructor(options: FrontOptions) {
    this.#options = { maxPending: defaultMaxPending, headTimeoutMs: defaultHeadTimeoutMs, ...options }
  }

  /** Takes a new connection. */
  take(socket: Socket): void {
    const { maxPending } = this.#options
    if (this.#pending.size >= maxPending) this.#refuseOldest()
    const pending = this.#waitForHead(socket)
    this.#pending.add(pending)
    this.#options.metrics.intakeFirstHeads.set(this.#pending.size)
    this.#read(pending)
  }

  /** Closes the connections on which nothing has arrived yet; the others may finish their head. */
  closeIdle(): void {
    for (const pending of this.#pending) if (pending.bytes.length === 0) this.#drop(pending)
  }

  closeAll(): void {
    for (const pending of this.#pending) this.#drop(pending)
  }

  #waitForHead(socket: Socket): Pending {
    const { headTimeoutMs, metrics } = this.#options
    const timer = setTimeout(() => {
      const detail = `The request head was not complete within ${headTimeoutMs / 1000} seconds.`
      this.#refuse(pending, new Problem('malformed', detail), 'head-time')
    }, headTimeoutMs)
    const read = () => this.#read(pending)
    const drop = () => this.#drop(pending)
    const pending: Pending = {
      socket,
      bytes: Buffer.alloc(0),
      release: () => {
        clearTimeout(timer)
        this.#pending.delete(pending)
        metrics.intakeFirstHeads.set(this.#pending.size)
        socket.off('readable', read).off('end', drop).off('close', drop).off('error', drop)
      },
    }
    socket.on('readable', read).on('end', drop).on('close', drop).on('error', drop)
    return pending
  }

  /** Must give bytes back in the same turn in which it took them: the stream ends once it is seen empty. */
  #read(pending: Pending): void {
    const { socket } = pending
    for (;;) {
      const chunk: Buffer | null = socket.read()
      if (chunk === null) return
      const seen = pending.bytes.length
      const bytes = Buffer.concat([pending.bytes, chunk])
      pending.bytes = bytes.subarray(leadingLineEnds(bytes))
      const end = headEnd(pending.bytes, seen)
      if (end > maxHeadBytes || (end < 0 && pending.bytes.length >= maxHeadBytes)) {
        const detail = `The request head is over ${maxHeadBytes} bytes.`
        this.#refuse(pending, new Problem('too-large', detail), 'head')
        return
      }
      if (end >= 0) {
        this.#handOn(pending, end)
        return
      }
    }
  }

  #handOn(pending: Pending, end: number): void {
    const { socket, bytes } = pending
    const head = bytes.subarray(0, end)
    const mended = mendHead(head)
    pending.release()
    socket.unshift(mended === head ? bytes : Buffer.concat([mended, bytes.subarray(end)]))
    this.#options.handOn(socket)
  }

  #refuse(pending: Pending, problem: Problem, limit: Limit): void {
    pending.release()
    this.#options.metrics.intakeRejected.inc({ limit })
    refuseUnread(pending.socket, problem)
  }

  #refuseOldest(): void {
    const [oldest] = this.#pending
    if (oldest === undefined) return
    const detail = 'Too many connections have not sent a request yet.'
    this.#refuse(oldest, new Problem('busy', detail, { retryAfter: 1 }), 'first-heads')
  }

  #drop(pending: Pending): void {
    pending.release()
    pending.socket.destroy()
  }
}
