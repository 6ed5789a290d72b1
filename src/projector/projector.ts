// The projector: folds what was said into what was shown. Several run, one is active; the others stand by.
import { randomUUID } from 'node:crypto'
import { ChannelBucket } from '../log/channel-bucket.ts'
import type { LogConnection } from '../log/connection.ts'
import { type Delivery, EventConsumer } from '../log/event-consumer.ts'
import { EventLog, wakeKey } from '../log/event-log.ts'
import { answerRebuilds, type RunningRebuild } from '../log/rebuild-calls.ts'
import type { Topology } from '../log/topology.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Service } from '../observe/service.ts'
import { LogClock, type Monotonic } from './log-clock.ts'
import { RebuildFailed, type RebuildReader } from './rebuild.ts'
import { Session } from './session.ts'
import { realTimers, Ticks, type Timers } from './ticks.ts'

export type ProjectorParts = {
  connection: LogConnection
  topology: Topology
  log: Logger
  metrics: Metrics
  /** Milliseconds; default performance.now(). */
  monotonic?: Monotonic
  timers?: Timers
}

/** How often a stand-by looks whether anybody is active. */
const watchMs = 500
const tickDeadlineMs = 5_000
const drainDeadlineMs = 5_000

export class Projector implements Service {
  readonly id = 'projector'
  readonly #parts: ProjectorParts
  readonly #log: Logger
  readonly #events: EventLog
  readonly #bucket: ChannelBucket
  readonly #consumer: EventConsumer
  readonly #clock: LogClock
  readonly #timers: Timers
  #session: Session | undefined
  /** Under this pin we are active no more, whatever still arrives. */
  #lostPin: string | undefined
  #watch: unknown
  #isRebuilding = false
  #answerNoMore: () => void = () => undefined
  #state: 'new' | 'running' | 'draining' | 'stopped' = 'new'

  constructor(parts: ProjectorParts) {
    const { connection, metrics } = parts
    const name = randomUUID()
    this.#parts = parts
    this.#log = parts.log.child({ role: this.id, projector: name })
    this.#events = new EventLog(connection, metrics)
    this.#bucket = new ChannelBucket(connection, name)
    this.#clock = new LogClock(parts.monotonic ?? (() => performance.now()))
    this.#timers = parts.timers ?? realTimers
    this.#consumer = new EventConsumer(connection, delivery => this.#receive(delivery))
    metrics.projectorActive.set(0)
  }

  /** Resolves when it pulls; it may be active or stand by then. Throws LogUnavailable. */
  async start(): Promise<void> {
    await this.#consumer.start()
    this.#state = 'running'
    this.#answerNoMore = answerRebuilds(this.#parts.connection, () => this.#rebuild())
    await this.#look()
    this.#watchOn()
  }

  /** A stand-by is ready: nothing more is asked of it. */
  unready(): string | null {
    if (this.#state !== 'running') return this.#state === 'new' ? 'starting' : 'stopping'
    if (!this.#parts.connection.connected()) return 'not connected to NATS'
    return this.#session?.unready() ?? null
  }

  /** Pulls no more, finishes what it has (for 5 s at most), and gives the pin back, so that a stand-by takes over at once. */
  async drain(): Promise<void> {
    this.#state = 'draining'
    this.#answerNoMore()
    this.#timers.clear(this.#watch)
    this.#consumer.stop()
    const session = this.#session
    if (session === undefined) return
    const deadline = this.#timers.set(() => session.end(), drainDeadlineMs)
    await session.drained()
    this.#timers.clear(deadline)
    session.end()
    try {
      await this.#consumer.release(session.pin)
    } catch (error) {
      this.#log.warn({ error: String(error) }, 'the pin was not given back; it lapses by itself')
    }
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#answerNoMore()
    this.#timers.clear(this.#watch)
    this.#consumer.stop()
    this.#session?.end()
    this.#session = undefined
  }

  #receive(delivery: Delivery): void {
    const { pin } = delivery
    if (pin === this.#lostPin || this.#state === 'stopped') return
    if (this.#session?.pin !== pin) this.#becomeActive(pin)
    this.#session?.receive(delivery)
  }

  #becomeActive(pin: string): void {
    this.#session?.end()
    this.#log.info('active')
    this.#session = new Session({
      pin,
      ...this.#parts.topology,
      bucket: this.#bucket,
      events: this.#events,
      ticks: new Ticks(this.#clock, this.#timers, (channelkey, id) => this.#sendTick(channelkey, id)),
      log: this.#log,
      metrics: this.#parts.metrics,
      isPinned: async () => (await this.#consumer.status()).pin === pin,
      clock: this.#clock,
      timers: this.#timers,
      fenced: () => this.#standBy('another projector writes'),
    })
  }

  #standBy(why: string): void {
    if (this.#session === undefined) return
    this.#log.info({ why }, 'standing by')
    this.#lostPin = this.#session.pin
    this.#session.end()
    this.#session = undefined
  }

  /** undefined where another projector is the active one. Throws RebuildFailed. */
  #rebuild(): RunningRebuild | undefined {
    const rebuild = this.#session?.rebuild(() => this.#openReader())
    if (rebuild === undefined) return undefined
    if (this.#isRebuilding) throw new RebuildFailed('another rebuild is under way')
    this.#isRebuilding = true
    this.#log.info('a rebuild begins')
    const result = rebuild.run().finally(() => {
      this.#isRebuilding = false
    })
    result.then(
      ({ events, channels, rewritten }) =>
        this.#log.info({ events, channels, rewritten: rewritten.length }, 'the rebuild is done'),
      error => this.#log.warn({ error: String(error) }, 'the rebuild was given up'),
    )
    return { progress: () => rebuild.progress, result }
  }

  async #openReader(): Promise<RebuildReader> {
    const { connection, metrics } = this.#parts
    const own = await connection.another('rebuild')
    return {
      events: new EventLog(own, metrics),
      bucket: new ChannelBucket(own, ''),
      close: () => own.close(),
    }
  }

  async #sendTick(channelkey: string, messageId: string): Promise<void> {
    try {
      await this.#events.append(channelkey, { v: 1, kind: 'tick' }, messageId, tickDeadlineMs)
    } catch (error) {
      this.#log.warn({ channelkey, error: String(error) }, 'a tick was not stored; it is sent again')
    }
  }

  #watchOn(): void {
    this.#watch = this.#timers.set(() => {
      void this.#look().then(() => {
        if (this.#state === 'running') this.#watchOn()
      })
    }, watchMs)
  }

  /**
   * Looks who is active. One that slept through its pin learns here that it is not.
   * The server pins a projector only when it has an event to give. Where none comes, nobody would be active, and
   * what becomes due would wait: so a stand-by that finds nobody active appends an event that changes nothing.
   */
  async #look(): Promise<void> {
    if (!this.#parts.connection.connected()) return
    const session = this.#session
    try {
      const { pin, waiting } = await this.#consumer.status()
      if (session !== undefined) {
        if (session === this.#session && session.pin !== pin) this.#standBy('the pin has passed on')
      } else if (pin === undefined && waiting === 0) {
        const second = Math.floor(Date.now() / 1000)
        await this.#events.append(wakeKey, { v: 1, kind: 'tick' }, `~wake.${second}`, tickDeadlineMs)
      }
    } catch (error) {
      this.#log.debug({ error: String(error) }, 'who is active is not known')
    }
  }
}
