// The durable consumer `projector` on EVENTS. Any number of projectors pull from it; the server gives the events to
// one of them, the pinned one, until that has not asked for longer than the pin lasts.
import {
  AckPolicy,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  type JsMsg,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { askPatiently, asLogError, failureOf, type LogConnection, messageOf } from './connection.ts'
import { deliveredOf } from './delivered.ts'
import { type RawEvent, rawEventOf } from './event-log.ts'
import { streams } from './topology.ts'

/** An event handed to the pinned projector. */
export type Delivery = RawEvent & {
  /** Names the time in which this projector is the pinned one; a new one after every change. */
  pin: string
  /** How many events the log holds behind this one. */
  pending: number
  /** This event and all before it are done. */
  ack(): void
}

const durable = 'projector'
const group = 'projector'
/** A dead projector's pin lapses after this; a living one asks more often (expiresMs), also when nothing happens. */
const pinMs = 2_000
const expiresMs = 1_000
const heartbeatMs = 500
const maxPulled = 512
/** Bounds what a projector holds unfolded. */
const maxAckPending = 2_048
/** What a dead projector held comes again after this; a living one reads it from the log much sooner. */
const ackWaitMs = 3_000
const pinHeader = 'Nats-Pin-Id'
const retryMs = 1_000

const settings = {
  filter_subject: 'event.>',
  // One ack for all that was folded together.
  ack_policy: AckPolicy.All,
  ack_wait: nanos(ackWaitMs),
  max_ack_pending: maxAckPending,
  priority_groups: [group],
  priority_policy: 'pinned_client' as const,
  priority_timeout: nanos(pinMs),
}

/** What the client's type of a consumer's info leaves out. */
type GroupInfo = { priority_groups?: Array<{ group: string; pinned_client_id?: string }> }

export class EventConsumer {
  readonly #connection: LogConnection
  readonly #handle: (delivery: Delivery) => void
  #messages: ConsumerMessages | undefined
  #retry: NodeJS.Timeout | undefined
  #stopped = false

  constructor(connection: LogConnection, take: (delivery: Delivery) => void) {
    this.#connection = connection
    this.#handle = take
  }

  /** Makes the consumer if it is missing, and begins to pull. Throws LogUnavailable. */
  async start(): Promise<void> {
    try {
      await askPatiently(() => this.#ensure())
      const consumer = await this.#connection.js.consumers.get(streams.events, durable)
      if (this.#stopped) return
      const messages = await consumer.consume({
        group,
        max_messages: maxPulled,
        expires: expiresMs,
        idle_heartbeat: heartbeatMs,
        callback: message => this.#take(message),
      })
      this.#messages = messages
      this.#follow(messages).catch(error => this.#restart(messages, error))
    } catch (error) {
      throw asLogError(error)
    }
  }

  /** The consumer as another release may have made it is brought to what this one wants. */
  async #ensure(): Promise<void> {
    const { consumers } = this.#connection.jsm
    try {
      await consumers.add(streams.events, {
        durable_name: durable,
        deliver_policy: DeliverPolicy.All,
        ...settings,
      })
    } catch (error) {
      if (failureOf(error) !== 'refused') throw error
      await consumers.update(streams.events, durable, settings)
    }
  }

  /** Pulls no more; what was pulled is not called back any more either. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#retry)
    this.#messages?.stop()
  }

  /** Who is pinned: undefined for nobody. And how many events nobody was given yet. Throws LogUnavailable. */
  async status(): Promise<{ pin: string | undefined; waiting: number }> {
    try {
      const info: ConsumerInfo & GroupInfo = await this.#connection.jsm.consumers.info(
        streams.events,
        durable,
      )
      const pin = info.priority_groups?.find(candidate => candidate.group === group)?.pinned_client_id
      return { pin: pin === '' ? undefined : pin, waiting: info.num_pending }
    } catch (error) {
      throw asLogError(error)
    }
  }

  /** Gives the pin back, so that another projector need not wait for its lapse. Only if it is still ours. */
  async release(pin: string): Promise<void> {
    if ((await this.status()).pin !== pin) return
    try {
      await this.#connection.jsm.consumers.unpin(streams.events, durable, group)
    } catch (error) {
      throw asLogError(error)
    }
  }

  #take(message: JsMsg): void {
    if (this.#stopped) return
    const { subject, headers, data } = message
    const { sequence, storedMs, pending } = deliveredOf(message)
    this.#handle({
      ...rawEventOf({ subject, sequence, storedMs, headers, data }),
      pin: headers?.get(pinHeader) ?? '',
      pending,
      ack: () => {
        // A closed connection refuses by throwing; the event then comes again.
        if (!this.#connection.nc.isClosed()) message.ack()
      },
    })
  }

  async #follow(messages: ConsumerMessages): Promise<void> {
    messages.closed().then(
      error => {
        this.#restart(messages, error ?? 'closed')
      },
      error => this.#restart(messages, error),
    )
    for await (const { type } of messages.status()) {
      if (type === 'consumer_not_found' || type === 'consumer_deleted') messages.stop()
    }
  }

  /** The consumer was deleted, or the client gave up on it: made anew, at most once a second. */
  #restart(messages: ConsumerMessages, error: unknown): void {
    if (this.#stopped || messages !== this.#messages) return
    this.#messages = undefined
    messages.stop()
    this.#connection.log.warn({ error: messageOf(error) }, 'the consumer of EVENTS is made anew')
    this.#again()
  }

  #again(): void {
    this.#retry = setTimeout(() => {
      this.start().catch(error => {
        if (failureOf(error) !== 'closed') this.#again()
      })
    }, retryMs)
  }
}
