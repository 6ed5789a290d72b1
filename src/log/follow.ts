// Follows a bucket: the last value of every key, then every change, in one order, over reconnects and server restarts.
import { AckPolicy, DeliverPolicy, type JsMsg, type PushConsumer } from '@nats-io/jetstream'
import { createInbox, nanos, nuid } from '@nats-io/transport-node'
import { failureOf, type LogConnection, messageOf } from './connection.ts'
import { deliveredOf } from './delivered.ts'

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

type Messages = Awaited<ReturnType<PushConsumer['consume']>>

const retryMs = [100, 250, 500, 1_000] as const
/** In a cluster the consumer may lie on another server than the connection: two of these missed, and that one is dead. */
const heartbeatMs = 1_000
/** A consumer that nobody listens to is removed by the server after this. */
const inactiveMs = 30_000

/**
 * A push consumer that is made anew, from the last sequence seen, after every reconnect, every failure, every message
 * missed and when its heartbeats cease: what was swallowed would else come only with the next message or not at all.
 * (The client's own ordered consumer does so, but beats every 30 s only, so that a dead server silenced it for a minute.)
 */
export class Follower {
  readonly #connection: LogConnection
  readonly #bucket: string
  readonly #handlers: FollowHandlers
  readonly #prefixLength: number
  #last = 0
  /** Messages of the present consumer that came. */
  #delivered = 0
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
      this.#delivered = 0
      const messages = await consumer.consume({ callback: message => this.#take(generation, message) })
      this.#watchOver(generation, messages).catch(error => this.#retryLater(generation, error))
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

  async #makeConsumer(): Promise<PushConsumer> {
    const stream = `KV_${this.#bucket}`
    const start =
      this.#last === 0
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#last + 1 }
    const { name } = await this.#connection.jsm.consumers.add(stream, {
      ...start,
      name: `follow_${nuid.next()}`,
      filter_subject: `$KV.${this.#bucket}.>`,
      deliver_subject: createInbox(),
      ack_policy: AckPolicy.None,
      max_deliver: 1,
      flow_control: true,
      idle_heartbeat: nanos(heartbeatMs),
      inactive_threshold: nanos(inactiveMs),
      mem_storage: true,
      num_replicas: 1,
    })
    return await this.#connection.js.consumers.getPushConsumer(stream, name)
  }

  async #watchOver(generation: number, messages: Messages): Promise<void> {
    for await (const status of messages.status()) {
      if (generation !== this.#generation) return
      const { type } = status
      const isMissed = type === 'heartbeat' && status.lastConsumerSequence > this.#delivered
      if (isMissed || type === 'heartbeats_missed' || type === 'consumer_deleted') {
        this.#retryLater(generation, isMissed ? 'a message was missed' : type)
      }
    }
  }

  #take(generation: number, message: JsMsg): void {
    if (generation !== this.#generation) return
    const { sequence, delivery, pending } = deliveredOf(message)
    if (delivery !== ++this.#delivered) this.#retryLater(generation, 'a message was missed')
    if (generation !== this.#generation || sequence <= this.#last) return
    this.#last = sequence
    const { data } = message
    this.#handlers.update({
      key: message.subject.slice(this.#prefixLength),
      sequence,
      // A marker is empty, and no value is; so the headers of values need not be read.
      data: data.length === 0 && isMarker(message.headers) ? null : data,
    })
    if (pending === 0) this.#setCaughtUp()
  }

  #setCaughtUp(): void {
    if (this.#caughtUp) return
    this.#caughtUp = true
    this.#handlers.caughtUp()
  }

  #retryLater(generation: number, error: unknown): void {
    if (this.#stopped || generation !== this.#generation) return
    this.#note(error)
    // Nothing of this consumer is taken any more, and it fails only once.
    this.#generation++
    this.#close?.()
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
