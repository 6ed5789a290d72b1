// Who listens to what. A topic is a subscription in the library: one publish reaches all its sockets.
import type { Metrics } from '../observe/metrics.ts'
import type { CatchUp } from './catch-up.ts'
import type { Frame } from './channel-state.ts'
import type { Scope, Selection } from './route.ts'
import type { UwsApp, UwsSocket } from './uws.ts'

export type Socket = UwsSocket<{ client: Client }>

/** Why this edge closed a socket; the label of its metric. */
export type CloseReason = 'slow' | 'timeout' | 'too-long' | 'deleted' | 'shutdown'

/** What the edge knows of one socket. */
export type Client = {
  readonly scope: Scope
  readonly key: string
  readonly selection: Selection
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
  /** Its sockets that still get their snapshot. */
  readonly catchingUp: Set<CatchUp>
  /** Bytes published to it. */
  published: number
}

/** WebSocket close codes: RFC 6455 7.4.1 and, for a deleted channel, rule 24. Abnormal: without a close frame. */
export const closeCodes = { abnormal: 1006, tooLong: 1009, shutdown: 1012, deleted: 4404 } as const

export class Audience {
  readonly #app: UwsApp
  readonly #metrics: Metrics
  readonly #topics = new Map<string, Topic>()
  #size = 0

  constructor(app: UwsApp, metrics: Metrics) {
    this.#app = app
    this.#metrics = metrics
  }

  /** Open sockets. */
  get size(): number {
    return this.#size
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
    const name = topicName(client.scope, client.key, client.selection)
    const topic = this.#topics.get(name) ?? { name, sockets: new Set(), catchingUp: new Set(), published: 0 }
    this.#topics.set(name, topic)
    topic.sockets.add(ws)
    client.topic = topic
    client.readUpTo = topic.published
    this.#count(1)
    return topic
  }

  /** The socket is closed. */
  leave(ws: Socket, client: Client): void {
    const { topic, catchUp } = client
    if (topic === null) return
    client.topic = null
    client.catchUp = null
    if (catchUp !== null) topic.catchingUp.delete(catchUp)
    topic.sockets.delete(ws)
    if (topic.sockets.size === 0) this.#topics.delete(topic.name)
    this.#count(-1)
  }

  /** Closes the sockets of a channel that was deleted. */
  closeChannel(channelkey: string): void {
    for (const selection of ['all', 'now', 'next'] as const) {
      const topic = this.#topics.get(topicName('channel', channelkey, selection))
      for (const ws of topic?.sockets ?? []) endSocket(ws, closeCodes.deleted, 'channel deleted', 'deleted')
    }
  }

  /** Every socket that is open now. */
  sockets(): Socket[] {
    return [...this.#topics.values()].flatMap(topic => [...topic.sockets])
  }

  #publish(name: string, bytes: Uint8Array): void {
    const topic = this.#topics.get(name)
    if (topic === undefined) return
    topic.published += bytes.length
    this.#app.publish(name, bytes, false)
    for (const catchUp of topic.catchingUp) catchUp.addLive(bytes)
    this.#metrics.edgeDeliveries.inc(topic.sockets.size)
  }

  #count(difference: number): void {
    this.#size += difference
    this.#metrics.edgeSockets.set(this.#size)
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
