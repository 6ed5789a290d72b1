// What JetStream says of a message that it delivers: it stands in the subject that an ack goes to.
import type { JsMsg } from '@nats-io/jetstream'

export type Delivered = {
  /** Sequence in the stream. */
  sequence: number
  /** The number of the message among those of its consumer, the first being 1. */
  delivery: number
  /** When it was stored, unix milliseconds. */
  storedMs: number
  /** How many more the consumer has to deliver. */
  pending: number
}

/**
 * The same as `message.info` and `message.timestampNanos`, for which the client takes the subject apart twice; an edge
 * that starts asks this of as many messages as there are channels.
 */
export function deliveredOf(message: JsMsg): Delivered {
  // The client's class has it, though its type does not say so.
  const subject = 'reply' in message ? message.reply : undefined
  return (typeof subject === 'string' ? readAckSubject(subject) : null) ?? slowly(message)
}

function slowly({ info, timestampNanos }: JsMsg): Delivered {
  return {
    sequence: info.streamSequence,
    delivery: info.deliverySequence,
    storedMs: Number(timestampNanos / nanosPerMs),
    pending: info.pending,
  }
}

const nanosPerMs = 1_000_000n
const digitsOfNanos = 6
/** `$JS.ACK.STREAM.CONSUMER.…`, and with `DOMAIN.ACCOUNT` before the stream and perhaps a token at the end. */
const formats: Record<number, number> = { 9: 5, 11: 7, 12: 7 }

/** null: of no known form. */
export function readAckSubject(subject: string): Delivered | null {
  const dots: number[] = []
  for (let at = subject.indexOf('.'); at >= 0; at = subject.indexOf('.', at + 1)) dots.push(at)
  const first = formats[dots.length + 1]
  if (first === undefined || !subject.startsWith('$JS.ACK.')) return null
  const token = (index: number) => subject.slice((dots[index - 1] ?? 0) + 1, dots[index])
  const sequence = Number(token(first))
  const delivery = Number(token(first + 1))
  // Cut off, not divided: a number of nanoseconds is rounded, now and then over a millisecond, and the same event
  // read directly would then have another time.
  const storedMs = Number(token(first + 2).slice(0, -digitsOfNanos))
  const pending = Number(token(first + 3))
  // One that is no number makes the sum none.
  return Number.isSafeInteger(sequence + delivery + storedMs + pending)
    ? { sequence, delivery, storedMs, pending }
    : null
}
