// Follows a bucket: the last value of every key, then every change, in one order, over reconnects and server restarts.
import { DeliverPolicy, type JsMsg, type PushConsumer } from '@nats-io/jetstream'
import { failureOf, type LogConnection, messageOf } from './connection.ts'

export type Followed = {
  key: string
  /** Sequence in the bucket's stream, the revision of a bucket. */
  sequence: number
  /** null for a delete marker. */
  data: Uint8Array | null
}

export type FollowHandlers = {
  update(update: Followed): void
  /** Once, when the snapshot is complete (an empty bucket too). */
  caughtUp(): void
}

const retryMs = [100, 250, 500, 1_000] as const

/**
 * An ordered push consumer that is made anew, from the last sequence seen, after every reconnect and every failure:
 * what a broken connection swallowed would else come only with the next message, or after a minute without heartbeat.
 */
export class Follower {
  readonly #connection: LogConnection
  readonly #bucket: string
  readonly #handlers: FollowHandlers
  readonly #prefixLength: number
  #last = 0
  #caughtUp = false
  #stopped = false
  /** Which consumer is the present one; messages of an earlier one are not taken. */
  #generation = 0
  #failures = 0
  #close: (() => void) | undefined
  #retry: NodeJS.Timeout | undefined
  #unlisten: (() => void) | undefined

  constructor(connection: LogConnection, bucket: string, handlers: FollowHandlers) {
    this.#connection = connection
    this.#bucket = bucket
    this.#handlers = handlers
    this.#prefixLength = `$KV.${bucket}.`.length
  }

  /** Begins; resolves when the server has accepted the first attempt or it was put off. */
  async start(): Promise<void> {
    this.#unlisten = this.#connection.onReconnect(() => void this.#consume())
    await this.#consume()
  }

  stop(): void {
    this.#stopped = true
    this.#generation++
    this.#unlisten?.()
    clearTimeout(this.#retry)
    this.#close?.()
  }

  async #consume(): Promise<void> {
    const generation = ++this.#generation
    clearTimeout(this.#retry)
    this.#close?.()
    try {
      const consumer = await this.#makeConsumer()
      if (generation !== this.#generation) return await discard(consumer)
      const { num_pending: pending } = await consumer.info(true)
      const messages = await consumer.consume({ callback: message => this.#take(generation, message) })
      this.#close = () => {
        this.#close = undefined
        messages.stop()
        discard(consumer).catch(error => this.#note(error))
      }
      messages.closed().then(
        error => this.#retryLater(generation, error ?? 'closed'),
        error => this.#retryLater(generation, error),
      )
      this.#failures = 0
      if (pending === 0) this.#setCaughtUp()
    } catch (error) {
      this.#retryLater(generation, error)
    }
  }

  #makeConsumer(): Promise<PushConsumer> {
    const start =
      this.#last === 0 ? { deliver_policy: DeliverPolicy.LastPerSubject } : { opt_start_seq: this.#last + 1 }
    return this.#connection.js.consumers.getPushConsumer(`KV_${this.#bucket}`, {
      ...start,
      filter_subjects: `$KV.${this.#bucket}.>`,
    })
  }

  #take(generation: number, message: JsMsg): void {
    if (generation !== this.#generation || message.seq <= this.#last) return
    this.#last = message.seq
    const { headers } = message
    this.#handlers.update({
      key: message.subject.slice(this.#prefixLength),
      sequence: message.seq,
      data: isMarker(headers) ? null : message.data,
    })
    if (message.info.pending === 0) this.#setCaughtUp()
  }

  #setCaughtUp(): void {
    if (this.#caughtUp) return
    this.#caughtUp = true
    this.#handlers.caughtUp()
  }

  #retryLater(generation: number, error: unknown): void {
    if (this.#stopped || generation !== this.#generation) return
    this.#note(error)
    if (failureOf(error) === 'closed') return
    const pauseMs = retryMs[Math.min(this.#failures++, retryMs.length - 1)]
    this.#retry = setTimeout(() => void this.#consume(), pauseMs)
  }

  #note(error: unknown): void {
    this.#connection.log.debug(
      { bucket: this.#bucket, error: messageOf(error) },
      'following a bucket was interrupted',
    )
  }
}

async function discard(consumer: PushConsumer): Promise<void> {
  await consumer.delete()
}

/** Whether a message of a bucket says that its key has no value any more. */
export function isMarker(headers: { get(name: string): string } | undefined): boolean {
  const operation = headers?.get('KV-Operation')
  return operation === 'DEL' || operation === 'PURGE'
}
