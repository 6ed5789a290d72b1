// Who listens to what. A topic is a subscription in the library: one publish reaches all its sockets.
import type { Metrics } from '../observe/metrics.ts'
import type { CatchUp } from './catch-up.ts'
import type { Frame } from './channel-state.ts'
import type { Asked } from './resume.ts'
import type { Resumer } from './resume-rate.ts'
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

/** What the edge knows of one socket or stream. */
export type Client = {
  readonly scope: Scope
  readonly key: string
  readonly selection: Selection
  /** Where it goes on, if it has been here before. */
  readonly asked: Asked | null
  readonly resumer: Resumer
  readonly openedMs: number
  /** From open to close. */
  topic: Topic | null
  /** While it is not yet subscribed. */
  catchUp: CatchUp | null
  /** `topic.published` when the client was last known to have read everything. */
  readUpTo: number
  closedFor: CloseReason | null
}

export type Topic = {
  readonly name: string
  readonly sockets: Set<Socket>
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

  /** Counts the socket in; it still has to subscribe. */
  join(ws: Socket, client: Client): Topic {
    const topic = this.#topicOf(client)
    topic.sockets.add(ws)
    this.#metrics.edgeSockets.set(++this.#sockets)
    return topic
  }

  /** The socket is closed. */
  leave(ws: Socket, client: Client): void {
    if (client.topic === null) return
    client.topic.sockets.delete(ws)
    this.#forget(client, client.topic)
    this.#metrics.edgeSockets.set(--this.#sockets)
  }

  /** Counts the stream in; it gets what is published once it is in `liveStreams`. */
  joinStream(stream: Stream): Topic {
    const topic = this.#topicOf(stream.client)
    topic.streams.add(stream)
    this.#metrics.edgeStreams.set(++this.#streams)
    return topic
  }

  /** The stream has ended. */
  leaveStream(stream: Stream): void {
    const { topic } = stream.client
    if (topic === null) return
    topic.streams.delete(stream)
    topic.liveStreams.delete(stream)
    this.#forget(stream.client, topic)
    this.#metrics.edgeStreams.set(--this.#streams)
  }

  #topicOf(client: Client): Topic {
    const name = topicName(client.scope, client.key, client.selection)
    const topic = this.#topics.get(name) ?? {
      name,
      sockets: new Set(),
      streams: new Set(),
      liveStreams: new Set(),
      catchingUp: new Set(),
      published: 0,
    }
    this.#topics.set(name, topic)
    client.topic = topic
    client.readUpTo = topic.published
    return topic
  }

  #forget(client: Client, topic: Topic): void {
    if (client.catchUp !== null) topic.catchingUp.delete(client.catchUp)
    client.topic = null
    client.catchUp = null
    if (topic.sockets.size + topic.streams.size === 0) this.#topics.delete(topic.name)
  }

  /** Closes the sockets of a channel that was deleted. */
  closeChannel(channelkey: string): void {
    for (const selection of ['all', 'now', 'next'] as const) {
      const topic = this.#topics.get(topicName('channel', channelkey, selection))
      for (const ws of topic?.sockets ?? []) endSocket(ws, closeCodes.deleted, 'channel deleted', 'deleted')
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
    this.#metrics.edgeDeliveries.inc(topic.sockets.size + topic.streams.size)
  }
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
