// Messages that JetStream acknowledges, a thousand and more a second: pushes, and the values made of them. For each of its
// requests the client makes an Error with its stack, two promises to race and a random token, a tenth of the CPU of a
// whole service, and writes to the socket. Here all acks come to one inbox, and what is published in one turn of the
// loop leaves together (ADR 0004).
import { type ApiError, JetStreamApiError } from '@nats-io/jetstream'
import {
  createInbox,
  errors,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node'

/** Where JetStream has stored a message. */
export type Ack = {
  readonly stream: string
  /** Sequence in the stream. */
  readonly seq: number
  /** A message of this id was there already; `seq` is its. */
  readonly duplicate: boolean
}

export type Message = {
  subject: string
  payload: string
  headers: MsgHdrs
  /** How long the ack is waited for. Milliseconds. */
  timeoutMs: number
}

type Waiting = {
  /** What stands behind the inbox in its reply subject: its slot, and a number of its own. */
  token: string
  slot: number
  message: Message
  timer: NodeJS.Timeout
  resolve(ack: Ack): void
  reject(error: unknown): void
}

const noResponders = 503
/** So many leave at once even before the turn is over: a server that has nothing to do must not wait for hundreds. */
const maxTogether = 8

export class Publisher {
  readonly #nc: NatsConnection
  readonly #inbox: string
  /** Sent, or about to be, and without an ack. Callers bound it. Slots, no Map (ADR 0009). */
  readonly #waiting: (Waiting | undefined)[] = []
  readonly #freeSlots: number[] = []
  #outgoing: Waiting[] = []
  #count = 0
  #subscription: Subscription | undefined

  constructor(nc: NatsConnection) {
    this.#nc = nc
    this.#inbox = `${createInbox()}.`
    // The client ends its own requests by itself when it is closed.
    void nc.closed().then(() => this.#failAll(new errors.ClosedConnectionError()))
  }

  /**
   * Publishes and resolves to the ack; messages leave in the order of the calls, at the end of this turn of the loop.
   * Throws what the client's own publish does (failureOf tells them apart): a JetStreamApiError, TimeoutError,
   * NoRespondersError, PermissionViolationError, ClosedConnectionError, or InvalidArgumentError where the message is too large for the server.
   */
  publish(message: Message): Promise<Ack> {
    if (this.#nc.isClosed()) return Promise.reject(new errors.ClosedConnectionError())
    this.#subscribe()
    return new Promise((resolve, reject) => {
      const slot = this.#freeSlots.pop() ?? this.#waiting.length
      const token = `${slot}-${this.#count++}`
      const timer = setTimeout(() => this.#fail(waiting, new errors.TimeoutError()), message.timeoutMs)
      const waiting: Waiting = { token, slot, message, timer, resolve, reject }
      this.#waiting[slot] = waiting
      const outgoing = this.#outgoing.push(waiting)
      if (outgoing === maxTogether) this.#send()
      else if (outgoing === 1) setImmediate(() => this.#send())
    })
  }

  #subscribe(): void {
    // A server whose permissions are changed may have ended it.
    if (this.#subscription?.isClosed() === false) return
    this.#subscription = this.#nc.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => this.#take(error, message),
    })
  }

  #send(): void {
    const outgoing = this.#outgoing
    this.#outgoing = []
    for (const waiting of outgoing) {
      if (!this.#isWaiting(waiting)) continue
      const { subject, payload, headers } = waiting.message
      try {
        // A Buffer of the shared pool: of a string the client makes an array with memory of its own.
        this.#nc.publish(subject, Buffer.from(payload), { headers, reply: this.#inbox + waiting.token })
      } catch (error) {
        this.#fail(waiting, error)
      }
    }
  }

  #take(error: Error | null, message: Msg): void {
    if (error !== null) {
      this.#failAll(error)
      return
    }
    const token = message.subject.slice(this.#inbox.length)
    const waiting = this.#waiting[Number.parseInt(token, 10)]
    // The ack may come after its time-out, when the slot is another's.
    if (waiting?.token !== token) return
    this.#end(waiting)
    try {
      waiting.resolve(ackOf(message, waiting.message.subject))
    } catch (refused) {
      waiting.reject(refused)
    }
  }

  #isWaiting(waiting: Waiting): boolean {
    return this.#waiting[waiting.slot] === waiting
  }

  #fail(waiting: Waiting, error: unknown): void {
    if (!this.#isWaiting(waiting)) return
    this.#end(waiting)
    waiting.reject(error)
  }

  #end({ slot, timer }: Waiting): void {
    this.#waiting[slot] = undefined
    this.#freeSlots.push(slot)
    clearTimeout(timer)
  }

  #failAll(error: Error): void {
    for (const waiting of this.#waiting) if (waiting !== undefined) this.#fail(waiting, error)
  }
}

function ackOf(message: Msg, subject: string): Ack {
  if (message.data.length === 0 && message.headers?.code === noResponders)
    throw new errors.NoRespondersError(subject)
  const { error, stream, seq, duplicate } = message.json<Partial<Ack> & { error?: ApiError }>()
  if (error !== undefined) throw new JetStreamApiError(error)
  if (stream === undefined || seq === undefined) throw new errors.ProtocolError('not an ack')
  return { stream, seq, duplicate: duplicate === true }
}
