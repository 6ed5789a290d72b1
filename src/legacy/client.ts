// One client of the nes protocol: what it asks, one message after the other, and what it is sent.
import { randomUUID } from 'node:crypto'
import type { WebSocket } from 'ws'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { answer, ping, publication, Refusal, type Request, readRequest, refusal } from './messages.ts'
import { Outgoing } from './outgoing.ts'
import type { Target } from './paths.ts'
import type { Subscriber, Subscriptions } from './subscriptions.ts'

/** The protocol's own heartbeat: a ping at each interval, an answer within the timeout. */
export type Heartbeat = { intervalMs: number; timeoutMs: number }

export type ClientOptions = {
  ws: WebSocket
  subscriptions: Subscriptions
  heartbeat: Heartbeat
  /** Bytes of live messages that may wait. */
  maxQueueBytes: number
  log: Logger
  metrics: Metrics
}

/** Why this client was closed by us; the label of its metric. */
export type CloseReason = 'slow' | 'timeout' | 'shutdown' | 'sunset' | 'fault'

const version = '2'
export const maxSubscriptions = 100

export class Client implements Subscriber {
  readonly #options: ClientOptions
  readonly #outgoing: Outgoing
  /** By path. */
  readonly #targets = new Map<string, Target>()
  #helloed = false
  #open = true
  /** Since the last ping something was heard of it, or taken by it. */
  #alive = true
  #work: Promise<void> = Promise.resolve()

  constructor(options: ClientOptions) {
    this.#options = options
    const { ws, maxQueueBytes } = options
    this.#outgoing = new Outgoing({
      ws,
      maxLiveBytes: maxQueueBytes,
      overrun: () => this.#cut('slow'),
      progress: () => {
        this.#alive = true
      },
    })
    ws.on('message', data => this.#take(String(data)))
  }

  /** Asks for a sign of life. */
  beat(): void {
    this.#alive = false
    if (this.#helloed && this.#open) this.#options.ws.send(ping)
  }

  /** Cuts the connection where none came. */
  endIfSilent(): void {
    if (!this.#alive) this.#cut('timeout')
  }

  /** Ends it with a close frame. */
  end(code: number, text: string, reason: CloseReason): void {
    if (!this.#open) return
    this.#closing(reason)
    this.#options.ws.close(code, text)
  }

  /** The socket is closed. */
  closed(): void {
    this.#open = false
    for (const target of this.#targets.values()) this.#options.subscriptions.remove(this, target)
    this.#targets.clear()
  }

  publish(path: string, message: Buffer): void {
    if (this.#open) this.#outgoing.sendLive(path, message)
  }

  revoked(path: string, message: string): void {
    this.#targets.delete(path)
    if (this.#open) this.#outgoing.sendLive(path, message)
  }

  /** In order, and no further one is read from the socket meanwhile. */
  #take(text: string): void {
    this.#alive = true
    const { ws, log } = this.#options
    ws.pause()
    this.#work = this.#work
      .then(() => this.#handle(text))
      .catch(error => {
        log.error({ err: error }, 'legacy: a message could not be handled')
        this.#cut('fault')
      })
      .finally(() => ws.resume())
  }

  async #handle(text: string): Promise<void> {
    let request: Request | undefined
    try {
      request = readRequest(text)
      await this.#obey(request)
    } catch (error) {
      this.#send(refusal(request, error))
    }
  }

  async #obey(request: Request): Promise<void> {
    if (request.type === 'ping') return
    if (request.type === 'hello') return await this.#hello(request)
    if (!this.#helloed) throw new Refusal(400, 'Connection is not initialized')
    switch (request.type) {
      case 'sub':
        return await this.#subscribe(request)
      case 'unsub':
        this.#unsubscribe(request.path)
        return this.#send(answer(request))
      case 'reauth':
        return this.#send(answer(request))
      case 'message':
        throw new Refusal(501, 'Messages are not taken here')
      case 'request':
        throw new Refusal(404, 'Only subscriptions are served here')
      default:
        throw new Refusal(400, 'Unknown message type')
    }
  }

  async #hello(request: Request): Promise<void> {
    if (this.#helloed) throw new Refusal(400, 'Connection already initialized')
    if (request.version !== version)
      throw new Refusal(400, `Incorrect protocol version (expected ${version})`)
    const { subs = [] } = request
    if (!Array.isArray(subs)) throw new Refusal(400, 'subs must be an array of paths')
    // One that is refused must not be used any more, but is left open so that it gets the reason.
    this.#helloed = true
    const targets: Target[] = []
    for (const path of new Set(subs)) {
      this.#requireRoom(targets.length)
      targets.push(await this.#options.subscriptions.check(path))
    }
    const { intervalMs: interval, timeoutMs: timeout } = this.#options.heartbeat
    this.#send(answer(request, { heartbeat: { interval, timeout }, socket: randomUUID() }))
    for (const target of targets) this.#add(target)
  }

  async #subscribe(request: Request): Promise<void> {
    const { path } = request
    if (typeof path === 'string' && this.#targets.has(path)) return this.#send(answer(request, { path }))
    this.#requireRoom(this.#targets.size)
    const target = await this.#options.subscriptions.check(path)
    this.#send(answer(request, { path }))
    this.#add(target)
  }

  #requireRoom(size: number): void {
    if (size < maxSubscriptions) return
    this.#options.metrics.legacyRejected.inc({ limit: 'subscriptions' })
    throw new Refusal(429, `At most ${maxSubscriptions} subscriptions`)
  }

  /** In one tick, so that no live record comes before the state that it follows. */
  #add(target: Target): void {
    if (!this.#open) return
    const { path } = target
    this.#targets.set(path, target)
    const records = this.#options.subscriptions.add(this, target)
    for (const record of records) this.#outgoing.sendOwed(path, () => publication(path, record))
  }

  #unsubscribe(path: unknown): void {
    const target = typeof path === 'string' ? this.#targets.get(path) : undefined
    if (target === undefined) return
    this.#targets.delete(target.path)
    this.#options.subscriptions.remove(this, target)
    this.#outgoing.forget(target.path)
  }

  #send(message: string): void {
    if (this.#open) this.#outgoing.sendLive(null, message)
  }

  /** Without a close frame: it would wait behind what is not read. */
  #cut(reason: CloseReason): void {
    if (!this.#open) return
    this.#closing(reason)
    this.#options.ws.terminate()
  }

  #closing(reason: CloseReason): void {
    this.closed()
    this.#options.metrics.legacyClosed.inc({ reason })
  }
}
