// Who listens to what. A topic is a subscription in the library: one publish reaches all its sockets.
import type { Metrics } from '../observe/metrics.ts'
import type { CatchUp } from './catch-up.ts'
import type { Frame } from './channel-state.ts'
import type { Comeback } from './resume-rate.ts'
import type { Scope, Selection } from './route.ts'
import type { UwsApp, UwsSocket } from './uws.ts'

export type Socket = UwsSocket<{ client: Client }>

/** Why this edge closed a socket; the label of its metric. */
export type CloseReason = 'slow' | 'timeout' | 'too-long' | 'deleted' | 'shutdown' | 'resuming'

/** A stream of server-sent events, to which the library publishes nothing. */
export type Stream = {
  readonly client: Client
  /** Sends a record that is published, or keeps it until the client reads on. */
  deliver(record: Uint8Array): void
  /** Ends an open one, so that its client connects again. */
  end(reason: CloseReason): void
}

/** What a client asks for. */
export type Wanted = { readonly scope: Scope; readonly key: string; readonly selection: Selection }

/** What the edge knows of one socket or stream: little, for it keeps this of each idle one. */
export type Client = {
  /** null: it has not been here before. */
  readonly comeback: Comeback | null
  /** null once it is closed. */
  topic: Topic | null
  /** While it is not yet subscribed. */
  catchUp: CatchUp | null
  /** `topic.published` when the client was last known to have read everything. */
  readUpTo: number
  closedFor: CloseReason | null
  /** Where a socket stands among those of its topic. */
  place: number
}

export type Topic = Wanted & {
  readonly name: string
  /** In no order. No Set: thousands may come and go at once (ADR 0009). */
  readonly sockets: Socket[]
  /** Its streams, those that still get their snapshot too. */
  readonly streams: Set<Stream>
  /** Those of its streams that get what is published. */
  readonly liveStreams: Set<Stream>
  /** Its sockets and streams that still get their snapshot. */
  readonly catchingUp: Set<CatchUp>
  /** Bytes published to it. */
  published: number
}

/** WebSocket close codes: RFC 6455 7.4.1 and, for a deleted channel and a loop of resumes, rules 24 and 25. Abnormal: without a close frame. */
export const closeCodes = {
  abnormal: 1006,
  tooLong: 1009,
  shutdown: 1012,
  deleted: 4404,
  resuming: 4429,
} as const

export class Audience {
  readonly #app: UwsApp
  readonly #metrics: Metrics
  readonly #topics = new Map<string, Topic>()
  #sockets = 0
  #streams = 0

  constructor(app: UwsApp, metrics: Metrics) {
    this.#app = app
    this.#metrics = metrics
  }

  /** Open sockets and streams. */
  get size(): number {
    return this.#sockets + this.#streams
  }

  /** Sends a record to all that asked for it: those of its channel and those of the station that it names. */
  deliver({ channelkey, stationkey, type, bytes }: Frame): void {
    if (this.#topics.size === 0) return
    this.#publish(topicName('channel', channelkey, 'all'), bytes)
    this.#publish(topicName('channel', channelkey, type), bytes)
    this.#publish(topicName('station', stationkey, 'all'), bytes)
    this.#publish(topicName('station', stationkey, type), bytes)
  }

  /** Sends a record to all sockets of one listener that asked for it. */
  deliverTo(metaid: string, type: Frame['type'], bytes: Uint8Array): void {
    this.#publish(topicName('listener', metaid, 'all'), bytes)
    this.#publish(topicName('listener', metaid, type), bytes)
  }

  /** A client that is counted in right after this, with `join` or `joinStream`. */
  newClient(wanted: Wanted, comeback: Comeback | null): Client {
    const topic = this.#topicOf(wanted)
    return { comeback, topic, catchUp: null, readUpTo: topic.published, closedFor: null, place: 0 }
  }

  /** Counts the socket in; it still has to subscribe. */
  join(ws: Socket, topic: Topic): void {
    ws.getUserData().client.place = topic.sockets.push(ws) - 1
    this.#sockets++
    this.#metrics.edgeSockets.inc()
  }

  /** The socket is closed. */
  leave(ws: Socket, client: Client): void {
    if (client.topic === null) return
    remove(client.topic.sockets, ws, client.place)
    this.#forget(client, client.topic)
    this.#sockets--
    this.#metrics.edgeSockets.dec()
  }

  /** Counts the stream in; it gets what is published once it is in `liveStreams`. */
  joinStream(stream: Stream): void {
    stream.client.topic?.streams.add(stream)
    this.#streams++
    this.#metrics.edgeStreams.inc()
  }

  /** The stream has ended. */
  leaveStream(stream: Stream): void {
    const { topic } = stream.client
    if (topic === null) return
    topic.streams.delete(stream)
    topic.liveStreams.delete(stream)
    this.#forget(stream.client, topic)
    this.#streams--
    this.#metrics.edgeStreams.dec()
  }

  #topicOf({ scope, key, selection }: Wanted): Topic {
    const name = topicName(scope, key, selection)
    const known = this.#topics.get(name)
    if (known !== undefined) return known
    const topic: Topic = {
      scope,
      key,
      selection,
      name,
      sockets: [],
      streams: new Set(),
      liveStreams: new Set(),
      catchingUp: new Set(),
      published: 0,
    }
    this.#topics.set(name, topic)
    return topic
  }

  #forget(client: Client, topic: Topic): void {
    if (client.catchUp !== null) topic.catchingUp.delete(client.catchUp)
    client.topic = null
    client.catchUp = null
    if (topic.sockets.length + topic.streams.size === 0) this.#topics.delete(topic.name)
  }

  /** Closes the sockets of a channel that was deleted. */
  closeChannel(channelkey: string): void {
    for (const selection of ['all', 'now', 'next'] as const) {
      const topic = this.#topics.get(topicName('channel', channelkey, selection))
      // A copy: each that is closed leaves.
      for (const ws of [...(topic?.sockets ?? [])])
        endSocket(ws, closeCodes.deleted, 'channel deleted', 'deleted')
      for (const stream of topic?.streams ?? []) stream.end('deleted')
    }
  }

  /** Every socket that is open now. */
  sockets(): Socket[] {
    return [...this.#topics.values()].flatMap(topic => [...topic.sockets])
  }

  /** Every stream that is open now. */
  streams(): Stream[] {
    return [...this.#topics.values()].flatMap(topic => [...topic.streams])
  }

  #publish(name: string, bytes: Uint8Array): void {
    const topic = this.#topics.get(name)
    if (topic === undefined) return
    topic.published += bytes.length
    this.#app.publish(name, bytes, false)
    for (const catchUp of topic.catchingUp) catchUp.addLive(bytes)
    for (const stream of topic.liveStreams) stream.deliver(bytes)
    this.#metrics.edgeDeliveries.inc(topic.sockets.length + topic.streams.size)
  }
}

/** The last one takes its place. */
function remove(sockets: Socket[], ws: Socket, place: number): void {
  const last = sockets.pop()
  if (last === undefined || last === ws) return
  sockets[place] = last
  last.getUserData().client.place = place
}

/** Ends an open socket with a close frame; without effect on one that is closed. */
export function endSocket(ws: Socket, code: number, text: string, reason: CloseReason): void {
  const { client } = ws.getUserData()
  if (client.topic === null) return
  client.closedFor = reason
  ws.end(code, text)
}

function topicName(scope: Scope, key: string, selection: Selection): string {
  return `${scope}/${key}/${selection}`
}
