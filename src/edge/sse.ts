// Server-sent events (rule 26): the names of the WebSockets, below /metadata/sse/.
import { Problem } from '../api/errors.ts'
import { decodePosition } from '../log/position.ts'
import type { Wanted } from './audience.ts'
import type { Comments } from './comments.ts'
import { EventStream, streamHeaders } from './event-stream.ts'
import type { Exchange } from './exchange.ts'
import { commonHeaders, preflight } from './headers.ts'
import { refuseBody, requireLoaded } from './poll.ts'
import type { Asked } from './resume.ts'
import type { Comeback } from './resume-rate.ts'
import { type SocketRoute, socketSelection, streamRoute } from './route.ts'
import { comebackOf, leave, requireRoom, type SocketContext } from './socket.ts'
import type { UwsResponse } from './uws.ts'
import { welcome } from './welcome.ts'

export type StreamContext = SocketContext & { readonly comments: Comments }

/** Seconds that a client which resumes in a loop is told to wait. */
const slowedSeconds = 5

/** undefined: the path is none of a stream. Throws or rejects with a Problem. */
export function serveStream(exchange: Exchange, context: StreamContext): Promise<void> | undefined {
  const route = streamRoute(exchange.path)
  return route === undefined ? undefined : openStream(exchange, route, context)
}

async function openStream(exchange: Exchange, route: SocketRoute, context: StreamContext): Promise<void> {
  const { method, query, headers } = exchange
  if (method !== 'get' && method !== 'head' && method !== 'options') throw new Problem('method-not-allowed')
  refuseBody(exchange)
  if (method === 'options') return exchange.reply(preflight)
  requireLoaded(context.serving)
  const { selection, asked } = socketSelection(query)
  await context.serving.directory.whenKnown(route.scope, route.key, () => {
    if (method === 'head') return exchange.reply({ status: '200 OK', headers: streamHeaders, body: null })
    requireRoom(context)
    if (route.scope === 'listener') context.feed.requireRoom(route.key)
    const after = lastEvent(headers.lastEventId) ?? asked
    const comeback = after && comebackOf(after, exchange)
    if (comeback !== null && !context.rate.allows(comeback.resumer)) {
      context.metrics.edgeRejected.inc({ limit: 'resumes' })
      throw new Problem('too-many-resumes', undefined, { retryAfter: slowedSeconds })
    }
    let stream: EventStream | undefined
    exchange.stream(
      res => {
        stream = begin(res, { ...route, selection }, comeback, context)
      },
      () => stream?.gone(),
    )
  })
}

/** What an EventSource adds when it connects again; it has no other way to hear of a mistake than a gap. */
function lastEvent(text: string): Asked | null {
  return text === '' ? null : { text, place: decodePosition(text) ?? null }
}

function begin(
  res: UwsResponse,
  wanted: Wanted,
  comeback: Comeback | null,
  context: StreamContext,
): EventStream {
  const { audience, comments, feed, limits, metrics, rate, resumes, serving } = context
  res.writeStatus('200 OK')
  for (const [name, value] of [...commonHeaders, ...streamHeaders]) res.writeHeader(name, value)
  // A client that came again on this connection would be refused by an edge that shuts down.
  res.writeHeader('Connection', 'close')
  if (wanted.scope === 'listener') feed.join(wanted.key)
  const client = audience.newClient(wanted, comeback)
  const stream = new EventStream(res, client, {
    audience,
    metrics,
    maxQueueBytes: limits.maxQueueBytes,
    left() {
      comments.remove(stream)
      if (wanted.scope === 'listener') feed.leave(wanted.key)
      leave(client, rate)
    },
  })
  comments.add(stream)
  if (comeback !== null) rate.enter(comeback.resumer.address)
  welcome(
    {
      client,
      outlet: stream,
      together: send => res.cork(send),
      live: () => stream.live(),
      overrun: () => stream.cut(),
    },
    { states: serving.states, feed, resumes, maxQueueBytes: limits.maxQueueBytes },
  )
  return stream
}
