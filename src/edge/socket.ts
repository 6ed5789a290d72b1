// WebSockets (spec 4.4, rule 24): the path is the subscription.
import { Problem } from '../api/errors.ts'
import type { Metrics } from '../observe/metrics.ts'
import { type Audience, type Client, closeCodes, endSocket, type Topic } from './audience.ts'
import type { Exchange } from './exchange.ts'
import type { ListenerFeed } from './listener-feed.ts'
import { refuseBody, requireLoaded, type Serving } from './poll.ts'
import type { Asked, Resumes } from './resume.ts'
import type { Comeback, ResumeRate } from './resume-rate.ts'
import { socketRoute, socketSelection } from './route.ts'
import type { UwsBehaviour, UwsSocketContext } from './uws.ts'
import { welcome } from './welcome.ts'

export type SocketLimits = {
  /** Open sockets. */
  maxSockets: number
  /** Bytes of live records that may wait for one socket. */
  maxQueueBytes: number
}

/** Over this a client's message closes its socket (rule 24). Bytes. */
export const maxMessageBytes = 1024

/** The library pings 16 s before this runs out: at 28 s, so the 30 s and 60 s of rule 24 are kept. Seconds. */
export const idleTimeoutSeconds = 44

/** After this a client that resumes in a loop is told so. Milliseconds. */
const slowedMs = 1_000

/** Past this the library cuts the connection without a close frame; between it and ours we can still say why. Bytes. */
const maxPayloadLength = 16 * 1024

/** The library's words for a client that did not answer its ping in time, and for one that passed maxPayloadLength. */
const timedOut = 'WebSocket timed out from inactivity'
const tooBig = 'Received too big message'

export type SocketContext = {
  readonly serving: Serving
  readonly audience: Audience
  readonly feed: ListenerFeed
  readonly resumes: Resumes
  readonly rate: ResumeRate
  readonly metrics: Metrics
  readonly limits: SocketLimits
}

/** Turns a request into a socket. Throws or rejects with a Problem: the upgrade is refused with it. */
export function upgrade(
  exchange: Exchange,
  socketContext: UwsSocketContext,
  context: SocketContext,
): Promise<void> | void {
  refuseBody(exchange)
  const route = socketRoute(exchange.path)
  if (route === undefined) throw new Problem('not-found')
  requireLoaded(context.serving)
  const { selection, asked } = socketSelection(exchange.query)
  return context.serving.directory.whenKnown(route.scope, route.key, () => {
    requireRoom(context)
    if (route.scope === 'listener') context.feed.requireRoom(route.key)
    const { websocketKey, websocketProtocol, websocketExtensions } = exchange.headers
    const { scope, key } = route
    const comeback = asked && comebackOf(asked, exchange)
    exchange.upgrade(res => {
      const client = context.audience.newClient({ scope, key, selection }, comeback)
      res.upgrade({ client }, websocketKey, websocketProtocol, websocketExtensions, socketContext)
    })
  })
}

/** Only of those who have been here before the address is asked for and kept: it costs as much as all else here. */
export function comebackOf(asked: Asked, { address, path, query, headers }: Exchange): Comeback {
  const what = `${path}?${query} ${headers.lastEventId}`
  return { asked, resumer: { address, what }, openedMs: performance.now() }
}

/** Throws a Problem where no further client may come. */
export function requireRoom({ serving, audience, limits, metrics }: SocketContext): void {
  if (serving.draining()) throw new Problem('busy', 'This edge is shutting down.', { retryAfter: 1 })
  if (audience.size < limits.maxSockets) return
  metrics.edgeRejected.inc({ limit: 'sockets' })
  throw new Problem('busy', 'This edge has as many sockets as it may have.', { retryAfter: 5 })
}

/** A socket's life, but for its upgrade. */
export function socketBehaviour(
  context: SocketContext,
): Omit<UwsBehaviour<{ client: Client }>, 'upgrade' | 'compression'> {
  const { audience, feed, limits, metrics, rate, resumes, serving } = context
  return {
    idleTimeout: idleTimeoutSeconds,
    sendPingsAutomatically: true,
    maxPayloadLength,
    maxBackpressure: limits.maxQueueBytes,
    closeOnBackpressureLimit: true,

    open(ws) {
      const { client } = ws.getUserData()
      const { comeback, topic } = client
      if (topic === null) return
      if (topic.scope === 'listener') feed.join(topic.key)
      audience.join(ws, topic)
      if (comeback !== null) rate.enter(comeback.resumer.address)
      if (comeback !== null && !rate.allows(comeback.resumer)) {
        metrics.edgeRejected.inc({ limit: 'resumes' })
        // Not at once, or the loop would only turn faster.
        setTimeout(() => {
          if (client.topic !== null) endSocket(ws, closeCodes.resuming, 'resuming too often', 'resuming')
        }, slowedMs).unref()
        return
      }
      welcome(
        {
          client,
          outlet: ws,
          together: send => ws.cork(send),
          live: () => ws.subscribe(topic.name),
          overrun() {
            client.closedFor = 'slow'
            ws.close()
          },
        },
        { states: serving.states, feed, resumes, maxQueueBytes: limits.maxQueueBytes },
      )
    },

    message(ws, message) {
      if (message.byteLength > maxMessageBytes)
        endSocket(ws, closeCodes.tooLong, 'message too long', 'too-long')
    },

    drain(ws) {
      const { client } = ws.getUserData()
      if (ws.getBufferedAmount() > 0) return
      hasRead(client)
      // Not from within this handler: after it the library stops waiting for the socket, even if a send has just
      // filled it again, and never calls this handler another time.
      if (client.catchUp !== null) setImmediate(() => client.catchUp?.pump())
    },

    pong(ws) {
      hasRead(ws.getUserData().client)
    },

    close(ws, code, message) {
      const { client } = ws.getUserData()
      const { topic } = client
      if (topic === null) return
      const abnormal = code === closeCodes.abnormal
      const reason =
        client.closedFor ?? (abnormal ? closedByLibrary(client, topic, message, limits.maxQueueBytes) : null)
      if (reason !== null) metrics.edgeClosed.inc({ reason })
      audience.leave(ws, client)
      leave(client, rate)
      if (topic.scope === 'listener') feed.leave(topic.key)
    },
  }
}

/** A client has gone. */
export function leave({ comeback, closedFor }: Client, rate: ResumeRate): void {
  if (comeback === null) return
  const { resumer, openedMs } = comeback
  if (closedFor === null) rate.visited(resumer, performance.now() - openedMs)
  rate.leave(resumer.address)
}

function hasRead(client: Client): void {
  if (client.topic !== null) client.readUpTo = client.topic.published
}

/**
 * Why the library closed a socket, where it did. It does not say so of a slow client (not in all its builds), but
 * that has been sent more than the limit since it was last known to have read all.
 */
function closedByLibrary(client: Client, topic: Topic, message: ArrayBuffer, maxQueueBytes: number) {
  const text = Buffer.from(message).toString()
  if (text === timedOut) return 'timeout'
  if (text === tooBig) return 'too-long'
  return topic.published - client.readUpTo > maxQueueBytes ? 'slow' : null
}
