// Direct reads of a stream by sequence or key: no consumer, answered by any replica.
import { createInbox, type Msg, type MsgHdrs } from '@nats-io/transport-node'
import { failureOf, type LogConnection, LogUnavailable } from './connection.ts'

/** A message as it is stored. */
export type Stored = {
  subject: string
  sequence: number
  /** When the log stored it, unix milliseconds. */
  timeMs: number
  headers: MsgHdrs
  data: Uint8Array
}

export type BatchRequest = {
  /** First sequence wanted. */
  seq: number
  /** At most so many messages. */
  batch: number
  /** And about so many bytes. */
  max_bytes?: number
  /** Only this subject; a literal one is twenty times faster than a wildcard. */
  next_by_subj?: string
}

const idleTimeoutMs = 3_000

/** Messages from a sequence on, in order; none where there are none. Throws LogUnavailable. */
export function readBatch(
  connection: LogConnection,
  stream: string,
  request: BatchRequest,
): Promise<Stored[]> {
  return ask(connection, stream, request)
}

/** Up to where a last message is looked for: a sequence, or a time as RFC 3339. */
export type LastLimit = { up_to_seq?: number; up_to_time?: string }

/** The last message of each of these subjects (wildcards allowed; at most 1,024 in all), in order of sequence. Throws LogUnavailable. */
export function readLast(
  connection: LogConnection,
  stream: string,
  subjects: string[],
  limit: LastLimit = {},
): Promise<Stored[]> {
  return ask(connection, stream, { multi_last: subjects, batch: 1024, ...limit })
}

/** The first message stored at this time or later; undefined where there is none. timeMs: unix milliseconds. Throws LogUnavailable. */
export async function firstSince(
  connection: LogConnection,
  stream: string,
  timeMs: number,
): Promise<Stored | undefined> {
  const [first] = await ask(connection, stream, { start_time: new Date(timeMs).toISOString(), batch: 1 })
  return first
}

/**
 * The sequence of a message as the stream's leader has it, which no replica's being behind can hide: that of `seq`, or with a
 * subject the first one from there on; undefined where there is none. Throws what the client throws.
 */
export async function leaderHas(
  { jsm }: LogConnection,
  stream: string,
  query: { seq: number; next_by_subj?: string },
): Promise<number | undefined> {
  try {
    return (await jsm.streams.getMessage(stream, query))?.seq
  } catch (error) {
    if (failureOf(error) === 'not found') return undefined
    throw error
  }
}

/**
 * Asks for a batch and collects it. (The client's own getBatch waits for ever when the connection breaks inside
 * a batch, and leaves a subscription behind with every one that is iterated.)
 */
function ask({ nc }: LogConnection, stream: string, request: object): Promise<Stored[]> {
  const messages: Stored[] = []
  return new Promise((resolve, reject) => {
    if (nc.isClosed()) return reject(new LogUnavailable('the connection to the log is closed'))
    const finish = (error?: string) => {
      clearTimeout(timer)
      subscription.unsubscribe()
      if (error === undefined) resolve(messages)
      else reject(new LogUnavailable(`the log is not available: reading ${stream}: ${error}`))
    }
    const subscription = nc.subscribe(createInbox(), {
      callback(error, message) {
        if (error !== null) return finish(error.message)
        timer.refresh()
        const status = message.headers?.code ?? 0
        if (status === 204 || status === 404) return finish()
        if (status !== 0) return finish(`${status} ${message.headers?.description ?? ''}`)
        messages.push(storedOf(message))
      },
    })
    const timer = setTimeout(() => finish('no answer in time'), idleTimeoutMs)
    try {
      nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(request), {
        reply: subscription.getSubject(),
      })
    } catch (error) {
      finish(error instanceof Error ? error.message : String(error))
    }
  })
}

function storedOf({ headers, data }: Msg): Stored {
  if (headers === undefined) throw new Error('a direct answer without headers')
  return {
    subject: headers.last('Nats-Subject'),
    sequence: Number(headers.last('Nats-Sequence')),
    timeMs: Date.parse(headers.last('Nats-Time-Stamp')),
    headers,
    data,
  }
}
