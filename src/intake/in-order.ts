// Requests that are pipelined on one connection are taken in their order (rule 11). Node announces the next request
// while the body of the one before has arrived but has not been read yet: it would overtake.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Exchange = { request: IncomingMessage; response: ServerResponse }
/** Few are open, and for a moment: no Set (ADR 0009). */
type Conversation = { waiting: (() => void)[]; blocked: boolean; open: Exchange[] }

/** Requests of one connection that have no answer yet; nobody who pushes has nearly so many. */
export const defaultMaxUnanswered = 32

/** The exchanges on each connection that have no whole answer yet. */
export class Conversations {
  readonly #conversations = new WeakMap<Socket, Conversation>()

  /**
   * A listener that takes a connection's requests one after the other, each once the body before is read. One that
   * comes while `maxUnanswered` have no answer goes to `refuse` instead; node itself stops reading from a connection
   * whose answers pile up.
   */
  inOrder(listener: RequestListener, maxUnanswered: number, refuse: RequestListener): RequestListener {
    return (request, response) => {
      const conversation = this.#of(request.socket)
      const exchange = { request, response }
      const isTooMany = conversation.open.length >= maxUnanswered
      conversation.open.push(exchange)
      response.once('close', () => conversation.open.splice(conversation.open.indexOf(exchange), 1))
      if (isTooMany) return refuse(request.resume(), response)
      const run = () => {
        listener(request, response)
        if (hasUnreadBody(request)) block(conversation, request)
      }
      if (conversation.blocked) conversation.waiting.push(run)
      else run()
    }
  }

  /** Resolves when every request that arrived whole on this connection has its answer. */
  async answered(socket: Socket): Promise<void> {
    const whole = this.#of(socket).open.filter(({ request }) => request.complete)
    await Promise.all(
      whole.map(({ response }) => new Promise<void>(resolve => response.once('close', resolve))),
    )
  }

  #of(socket: Socket): Conversation {
    const known = this.#conversations.get(socket)
    if (known !== undefined) return known
    const fresh: Conversation = { waiting: [], blocked: false, open: [] }
    this.#conversations.set(socket, fresh)
    return fresh
  }
}

function hasUnreadBody({ headers, readableEnded, destroyed }: IncomingMessage): boolean {
  if (readableEnded || destroyed) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function block(conversation: Conversation, request: IncomingMessage): void {
  conversation.blocked = true
  const proceed = () => {
    request.off('end', proceed).off('close', proceed)
    conversation.blocked = false
    while (!conversation.blocked) {
      const next = conversation.waiting.shift()
      if (next === undefined) return
      next()
    }
  }
  request.on('end', proceed).on('close', proceed)
}
