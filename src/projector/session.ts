// One time of being the active projector: from the first event under a pin until the pin is lost.
import { setTimeout as wait } from 'node:timers/promises'
import type { LoggedEvent } from '../domain/event.ts'
import { dueMs } from '../domain/now-next.ts'
import type { ChannelBucket } from '../log/channel-bucket.ts'
import type { Delivery } from '../log/event-consumer.ts'
import { decodeEvent, type EventLog, type RawEvent, UnknownEventVersion } from '../log/event-log.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { ChannelStates } from './channel-states.ts'
import type { Fold } from './fold.ts'
import { KeepAlive } from './keep-alive.ts'
import type { LogClock } from './log-clock.ts'
import { Rebuild, RebuildFailed, type RebuildParts } from './rebuild.ts'
import type { Ticks, Timers } from './ticks.ts'
import { ValueWriter } from './value-writer.ts'
import { foldEvent } from './values.ts'

export type SessionParts = {
  pin: string
  incarnation: string
  /** How long the bucket keeps a value, milliseconds; 0: for ever. */
  retentionMs: number
  bucket: ChannelBucket
  events: EventLog
  ticks: Ticks
  timers: Timers
  log: Logger
  metrics: Metrics
  /** Whether the server still gives the events to us. Throws LogUnavailable. */
  isPinned(): Promise<boolean>
  /** The log's clock. */
  clock: Pick<LogClock, 'set' | 'nowMs'>
  /** Another projector writes: this one is to stand by. */
  fenced(): void
}

const retryMs = [50, 200, 500, 1_000] as const
/** How many channels are looked through for due times before events get their turn again. */
const armSlice = 200
/** What is folded and written is acknowledged after this, or when there is so much of it. */
const ackAfterMs = 100
export const ackTogether = 256

export class Session {
  readonly #parts: SessionParts
  readonly #keepAlive: KeepAlive
  readonly #end = new AbortController()
  /** Deliveries not acknowledged yet; those before #next are folded. */
  readonly #deliveries: Delivery[] = []
  #next = 0
  #pending = 0
  #fold: Fold | undefined
  /** Up to here the bucket is known to hold what we wrote or found; undefined before the first loading. */
  #safeSequence: number | undefined
  #running = false
  #acking = false
  #ackTimer: unknown
  #caughtUp = false
  #mismatch: string | null = null
  #drained: (() => void) | undefined

  constructor(parts: SessionParts) {
    this.#parts = parts
    const nowMs = () => parts.clock.nowMs()
    this.#keepAlive = new KeepAlive({ ...parts, nowMs, fold: () => this.#fold })
    parts.metrics.projectorActive.set(1)
  }

  get pin(): string {
    return this.#parts.pin
  }

  /** Takes an event; folds it after those before. */
  receive(delivery: Delivery): void {
    this.#deliveries.push(delivery)
    this.#pending = delivery.pending
    if (!this.#running) void this.#run()
  }

  unready(): string | null {
    if (this.#mismatch !== null) return this.#mismatch
    if (this.#fold === undefined) return 'reading the bucket channel'
    return this.#caughtUp ? null : `folding: ${this.#lag} events behind`
  }

  /** A rebuild beside the live fold, ready to run. Throws RebuildFailed where it can't be begun now. */
  rebuild(openReader: RebuildParts['openReader']): Rebuild {
    const fold = this.#fold
    if (fold === undefined || !this.#caughtUp)
      throw new RebuildFailed('the projector is still folding what was said before')
    return new Rebuild(
      { ...this.#parts, openReader, live: () => this.#fold, hasEnded: () => this.#ended },
      fold,
    )
  }

  /** Resolves when all that was received is folded, written and acknowledged, or the session has ended. */
  drained(): Promise<void> {
    this.#parts.ticks.stop()
    return new Promise(resolve => {
      this.#drained = resolve
      this.#acknowledgeSoon()
      this.#noteDrained()
    })
  }

  #noteDrained(): void {
    if (this.#ended || this.#deliveries.length === 0) this.#drained?.()
  }

  /** Drops everything; what was not acknowledged comes again to whoever is active next. */
  end(): void {
    this.#end.abort(new Error('the session has ended'))
    this.#fold?.writer.close()
    this.#fold = undefined
    this.#parts.ticks.stop()
    this.#keepAlive.stop()
    this.#parts.timers.clear(this.#ackTimer)
    this.#parts.metrics.projectorActive.set(0)
    this.#noteDrained()
  }

  get #ended(): boolean {
    return this.#end.signal.aborted
  }

  get #lag(): number {
    return this.#pending + this.#deliveries.length - this.#next
  }

  async #run(): Promise<void> {
    this.#running = true
    while (!this.#ended) {
      const fold = this.#fold ?? (await this.#load())
      const delivery = this.#deliveries[this.#next]
      if (fold === undefined || delivery === undefined) break
      // Without a pause between them, events that came together are written together.
      if (fold.writer.hasRoom && delivery.sequence <= fold.folded + 1) this.#take(fold, delivery)
      else await this.#prepare(fold, delivery.sequence)
    }
    this.#running = false
  }

  #take(fold: Fold, delivery: Delivery): void {
    if (delivery.sequence > fold.folded) this.#foldOne(fold, delivery)
    this.#next++
    this.#acknowledgeSoon()
    this.#noteLag()
  }

  /** Makes room, and folds what lies between what is folded and this event. A fold that failed meanwhile is loaded anew. */
  async #prepare(fold: Fold, sequence: number): Promise<void> {
    try {
      await fold.writer.room()
      if (fold.folded + 1 >= sequence) return
      for await (const event of this.#parts.events.readRaw(fold.folded + 1, sequence - 1)) {
        if (!fold.writer.hasRoom) await fold.writer.room()
        if (fold !== this.#fold) return
        this.#foldOne(fold, event)
      }
      fold.folded = sequence - 1
    } catch (error) {
      this.#fail(error)
    }
  }

  #foldOne(fold: Fold, raw: RawEvent): void {
    fold.guest?.before(raw)
    if (raw.clock !== null) this.#parts.ticks.stand(raw.clock === 'stands')
    const event = decodeEvent(raw)
    if (event instanceof Error) {
      this.#skip(raw, event, event instanceof UnknownEventVersion ? 'version' : 'malformed')
    } else this.#foldEvent(fold, event)
    fold.folded = raw.sequence
  }

  #foldEvent({ states, writer }: Fold, event: LoggedEvent): void {
    const { channelkey, sequence, timeMs } = event
    const { kind } = event.event
    try {
      const known = states.get(channelkey)
      const {
        values,
        known: after,
        late,
      } = foldEvent(known, event, this.#parts.incarnation, writer.lastSequence)
      if (values.length > 0) states.set(channelkey, after)
      writer.send(sequence, values)
      this.#parts.ticks.arm(channelkey, dueMs(after.state), kind === 'tick' ? timeMs : undefined)
      this.#parts.metrics.projectorEvents.inc({ kind })
      for (const { reason, record } of late) {
        const { artist, song, id } = record
        this.#parts.log.info(
          { channelkey, sequence, reason, artist, song, id },
          'a play is not shown: it is late',
        )
      }
    } catch (error) {
      this.#skip(event, error, 'poisonous')
    }
  }

  #skip({ sequence }: { sequence: number }, error: unknown, reason: string): void {
    this.#parts.metrics.projectorSkipped.inc({ reason })
    this.#parts.log.error({ sequence, reason, error: String(error) }, 'an event is skipped')
  }

  // ---------------------------------------------------------------- acknowledging

  /** One ack for many: it is work for JetStream too, and nobody waits for it but a projector that drains. */
  #acknowledgeSoon(): void {
    if (this.#drained === undefined && this.#deliveries.length < ackTogether) {
      this.#ackTimer ??= this.#parts.timers.set(() => this.#acknowledge(), ackAfterMs)
    } else if (!this.#acking) {
      this.#acking = true
      setImmediate(() => {
        this.#acking = false
        this.#acknowledge()
      })
    }
  }

  /** One ack for the last of all the events whose values are acknowledged. */
  #acknowledge(): void {
    this.#parts.timers.clear(this.#ackTimer)
    this.#ackTimer = undefined
    if (this.#fold === undefined) return
    const { writer, folded } = this.#fold
    const settled = writer.oldestEvent === undefined ? folded : writer.oldestEvent - 1
    let last: Delivery | undefined
    let count = 0
    for (; count < this.#next; count++) {
      const delivery = this.#deliveries[count]
      if (delivery === undefined || delivery.sequence > settled) break
      if (last === undefined || delivery.sequence > last.sequence) last = delivery
    }
    this.#deliveries.splice(0, count)
    this.#next -= count
    last?.ack()
    this.#noteDrained()
  }

  #noteLag(): void {
    this.#parts.metrics.projectorLag.set(this.#lag)
    if (this.#lag > 0 || this.#caughtUp) return
    this.#caughtUp = true
    this.#parts.ticks.start()
    this.#keepAlive.start()
  }

  // ---------------------------------------------------------------- loading and failing

  #fail(error: unknown): void {
    if (this.#fold === undefined) return
    this.#parts.metrics.projectorReloads.inc()
    this.#parts.log.warn({ error: String(error) }, 'an append failed: the states are read again')
    this.#safeSequence = this.#fold.writer.ackedSequence
    this.#fold.writer.close()
    this.#fold = undefined
    this.#next = 0
    if (!this.#running) void this.#run()
  }

  /** Reads the bucket until that succeeds; undefined when the session has ended. */
  async #load(): Promise<Fold | undefined> {
    for (let attempt = 0; !this.#ended; attempt++) {
      try {
        const fold = await this.#loadOnce()
        if (this.#ended || fold === undefined) return undefined
        this.#fold = fold
        void this.#armAll(fold)
        return fold
      } catch (error) {
        if (this.#ended) return undefined
        this.#parts.log.warn({ error: String(error) }, 'the bucket channel could not be read')
        await wait(retryMs[Math.min(attempt, retryMs.length - 1)])
      }
    }
    return undefined
  }

  async #loadOnce(): Promise<Fold | undefined> {
    const { bucket, events, log } = this.#parts
    const states = new ChannelStates()
    let isForeign = false
    const lastSequence = await bucket.load(value => {
      states.load(value)
      if (value.sequence > (this.#safeSequence ?? value.sequence) && !bucket.isOwn(value)) isForeign = true
    }, this.#end.signal)
    if (isForeign && !(await this.#parts.isPinned())) {
      this.#parts.fenced()
      return undefined
    }
    const extent = await events.extent()
    this.#parts.clock.set(extent.nowMs)
    this.#parts.ticks.stand(await events.timeStands())
    this.#mismatch =
      extent.lastSequence < states.folded
        ? 'the stream EVENTS ends before what the bucket channel shows'
        : null
    if (this.#mismatch !== null) throw new Error(this.#mismatch)
    this.#safeSequence = lastSequence
    const writer = new ValueWriter(bucket, lastSequence, {
      progress: values => {
        this.#parts.metrics.projectorValues.inc(values)
        this.#acknowledgeSoon()
      },
      failed: error => this.#fail(error),
    })
    log.info({ folded: states.folded, channels: states.size }, 'folding')
    return { states, writer, folded: states.folded }
  }

  /** Arms what is due of every channel, in slices, so that events need not wait for it. */
  async #armAll(fold: Fold): Promise<void> {
    let count = 0
    for (const channelkey of fold.states.keys()) {
      if (++count % armSlice === 0) await new Promise(resolve => setImmediate(resolve))
      if (fold !== this.#fold) return
      try {
        this.#parts.ticks.arm(channelkey, fold.states.dueMs(channelkey))
      } catch (error) {
        this.#parts.log.error({ channelkey, error: String(error) }, 'a value can not be read')
      }
    }
  }
}
