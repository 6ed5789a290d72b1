// A rebuild: all of EVENTS folded aside while the live fold goes on, and what differs written anew.
//
// The two are compared at one event, T. The aside fold reads the log until it is near the live one, notes what the
// live one folds while it reads the rest, and then, in one go, folds that too: now both stand at T. From there a
// channel's live state stays what it was at T until its next event; so each channel is compared in its turn, or right
// before that event is folded, whichever comes first.
import { setImmediate as breathe, setTimeout as wait } from 'node:timers/promises'
import type { LoggedEvent } from '../domain/event.ts'
import { dueMs, reduce } from '../domain/now-next.ts'
import { corrected } from '../domain/restate.ts'
import { type ChannelState, initialState } from '../domain/state.ts'
import { readFolded, UnknownVersion } from '../domain/value.ts'
import type { ChannelBucket, ChannelValue } from '../log/channel-bucket.ts'
import { LogUnavailable } from '../log/connection.ts'
import { channelkeyOf, decodeEvent, type EventLog, type RawEvent, wakeKey } from '../log/event-log.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Known } from './channel-states.ts'
import type { Fold } from './fold.ts'
import type { Ticks } from './ticks.ts'
import { valueOfChange } from './values.ts'

export type RebuildReader = {
  events: Pick<EventLog, 'readBatches'>
  bucket: Pick<ChannelBucket, 'lastBefore'>
  close(): Promise<void>
}

export type RebuildParts = {
  incarnation: string
  /** Opens the two logs for reading, on a connection of their own: the live fold must not wait for these reads. */
  openReader(): Promise<RebuildReader>
  ticks: Ticks
  log: Logger
  metrics: Metrics
  /** The live fold; undefined while the states are read again. */
  live(): Fold | undefined
  /** Whether there will be no live fold any more: another projector is the active one. */
  hasEnded(): boolean
}

export type RebuildProgress = {
  /** How many events are folded aside, and how many there are by now. */
  events: number
  of: number
}

export type RebuildResult = {
  /** How many events were folded, and of how many channels. */
  events: number
  channels: number
  /** The channels that were written anew. */
  rewritten: string[]
}

/** It could not be finished; nothing wrong was written, and it may be asked for again. */
export class RebuildFailed extends Error {
  override name = 'RebuildFailed'
}

/** The live fold was dropped: the states are read again, and the comparison begins anew. */
class FoldLost extends Error {
  override name = 'FoldLost'
}

type Aside = {
  state: ChannelState
  /** Compared with the live state of this channel; what is folded since needs no comparison. */
  compared: boolean
  /** The event that made this state, and its time. */
  event: number
  timeMs: number
}

/** So near to the live fold, the rest is read while what that one folds is noted. */
const nearEvents = 256
/** More than this noted while the rest was read: once more around. */
const maxNoted = 10_000
/** How many events are folded before the live fold gets its turn. */
const turnEvents = 16
const turnChannels = 16
/** Reads at a time for the states from before the first event. */
const maxReads = 8
const retryMs = 200
/** Reads in a row that brought nothing. */
const maxFailures = 10

export class Rebuild {
  readonly #parts: RebuildParts
  #fold: Fold
  readonly #aside = new Map<string, Aside>()
  readonly #rewritten = new Set<string>()
  #first: number | undefined
  #folded = 0
  #noted: RawEvent[] | undefined
  #comparing = false
  #channels = 0
  #events = 0

  constructor(parts: RebuildParts, fold: Fold) {
    this.#parts = parts
    this.#fold = fold
  }

  get progress(): RebuildProgress {
    const first = this.#first ?? 1
    return { events: Math.max(0, this.#folded - first + 1), of: Math.max(0, this.#fold.folded - first + 1) }
  }

  /** Resolves when what differed is stored. Throws RebuildFailed, and LogUnavailable. */
  async run(): Promise<RebuildResult> {
    const reader = await this.#parts.openReader()
    try {
      while (!(await this.#try(reader))) await this.#nextFold()
      return { events: this.#events, channels: this.#channels, rewritten: [...this.#rewritten] }
    } finally {
      await reader.close()
    }
  }

  /** false: the live fold was dropped. Nothing that was folded aside is lost by that. */
  async #try(reader: RebuildReader): Promise<boolean> {
    this.#fold.guest = this
    try {
      await this.#foldAside(reader)
      await this.#compareAll()
      return true
    } catch (error) {
      if (error instanceof FoldLost) return false
      throw error
    } finally {
      delete this.#fold.guest
      this.#noted = undefined
      this.#comparing = false
    }
  }

  /** What was written may be lost with the fold: all is compared anew, at a later event. */
  async #nextFold(): Promise<void> {
    for (const aside of this.#aside.values()) aside.compared = false
    for (;;) {
      if (this.#parts.hasEnded()) throw new RebuildFailed('this projector is not the active one any more')
      const fold = this.#parts.live()
      if (fold !== undefined) {
        this.#fold = fold
        return
      }
      await wait(retryMs)
    }
  }

  /** The live fold is about to fold this event. */
  before(event: RawEvent): void {
    if (this.#comparing) this.#compare(channelkeyOf(event))
    else this.#noted?.push(event)
  }

  // ---------------------------------------------------------------- folding aside

  async #foldAside(reader: RebuildReader): Promise<void> {
    for (;;) {
      const target = this.#fold.folded
      if (target < this.#folded) {
        // What the last fold had folded and not written is folded again first.
        await wait(retryMs)
        this.#requireLive()
        continue
      }
      const near = target - this.#folded <= nearEvents
      if (near) this.#noted = []
      await this.#read(reader, target)
      const noted = this.#noted ?? []
      this.#noted = undefined
      if (!near || noted.length > maxNoted) continue
      // A channel that is not here has no event before these: the live fold alone knows it.
      for (const event of noted) {
        if (event.sequence > target && this.#aside.has(channelkeyOf(event))) this.#foldOne(event)
      }
      this.#folded = this.#fold.folded
      this.#channels = this.#aside.size
      this.#comparing = true
      return
    }
  }

  /** Reads and folds up to this event; a log that does not answer is asked again. */
  async #read(reader: RebuildReader, target: number): Promise<void> {
    for (let failures = 0; this.#folded < target; ) {
      const before = this.#folded
      try {
        await this.#readOnce(reader, target)
        this.#folded = target
      } catch (error) {
        if (this.#folded > before) failures = 0
        if (!(error instanceof LogUnavailable) || ++failures > maxFailures) throw error
        await wait(retryMs)
      }
    }
  }

  async #readOnce(reader: RebuildReader, target: number): Promise<void> {
    for await (const batch of reader.events.readBatches(this.#folded + 1, target)) {
      this.#first ??= batch[0]?.sequence
      await this.#foldBatch(reader, batch)
    }
  }

  async #foldBatch(reader: RebuildReader, batch: RawEvent[]): Promise<void> {
    await this.#begin(reader, batch)
    for (const [index, event] of batch.entries()) {
      if (index % turnEvents === 0) await this.#giveTurn()
      this.#foldOne(event)
      this.#folded = event.sequence
    }
  }

  async #giveTurn(): Promise<void> {
    await breathe()
    this.#requireLive()
  }

  #requireLive(): void {
    if (this.#fold !== this.#parts.live()) throw new FoldLost()
  }

  #foldOne(raw: RawEvent): void {
    const aside = this.#aside.get(channelkeyOf(raw))
    if (aside === undefined) return
    const event = decodeEvent(raw)
    this.#events++
    // What the live fold skips, and has logged, is skipped here too.
    if (event instanceof Error) return
    const state = this.#stateAfter(aside.state, event)
    if (state === null) return
    aside.state = state
    aside.event = event.sequence
    aside.timeMs = event.timeMs
  }

  /** null: the event changes nothing, or cannot be folded. */
  #stateAfter(state: ChannelState, event: LoggedEvent): ChannelState | null {
    try {
      return reduce(state, event).at(-1)?.state ?? null
    } catch (error) {
      this.#parts.log.debug({ sequence: event.sequence, error: String(error) }, 'skipped in the rebuild too')
      return null
    }
  }

  // ---------------------------------------------------------------- where a channel begins

  /** Those of which these are the first events there begin with nothing, or with what was shown before the log's cut. */
  async #begin(reader: RebuildReader, batch: RawEvent[]): Promise<void> {
    const first = new Map<string, RawEvent>()
    for (const event of batch) {
      const channelkey = channelkeyOf(event)
      if (channelkey === wakeKey) continue
      if (!this.#aside.has(channelkey) && !first.has(channelkey)) first.set(channelkey, event)
    }
    const entries = [...first]
    while (entries.length > 0) {
      const some = entries.splice(0, maxReads)
      const begun = await Promise.all(some.map(([key, event]) => this.#beginning(reader, key, event)))
      for (const [index, [key]] of some.entries()) {
        const aside = begun[index]
        if (aside) this.#aside.set(key, aside)
      }
    }
  }

  async #beginning(
    { bucket }: RebuildReader,
    channelkey: string,
    { storedMs }: RawEvent,
  ): Promise<Aside | null> {
    const nothing = { state: initialState, compared: false, event: 0, timeMs: 0 }
    const cut = this.#first ?? 1
    if (cut === 1) return nothing
    const value = await bucket.lastBefore(channelkey, cut, storedMs)
    return value === undefined ? nothing : this.#asideOf(value)
  }

  /** null where it can't be read: what follows from it is not known, and the channel is left alone. */
  #asideOf(value: ChannelValue): Aside | null {
    if (value.json === null) {
      const state = { ...initialState, deletedRevision: value.revision }
      return { state, compared: false, event: value.event, timeMs: 0 }
    }
    try {
      const { state, event } = readFolded(value.json)
      return { state, compared: false, event, timeMs: 0 }
    } catch (error) {
      const { channelkey, sequence } = value
      this.#parts.log.warn({ channelkey, sequence, error: String(error) }, 'a channel is not rebuilt')
      return null
    }
  }

  // ---------------------------------------------------------------- comparing

  async #compareAll(): Promise<void> {
    let count = 0
    for (const channelkey of this.#aside.keys()) {
      if (!this.#fold.writer.hasRoom) await this.#fold.writer.room()
      if (count++ % turnChannels === 0) await this.#giveTurn()
      this.#compare(channelkey)
    }
    await this.#fold.writer.written()
    this.#requireLive()
  }

  #compare(channelkey: string): void {
    const aside = this.#aside.get(channelkey)
    if (aside === undefined || aside.compared) return
    aside.compared = true
    const shown = this.#shown(channelkey)
    const change = shown && corrected(shown.state, aside.state, aside.timeMs)
    if (!shown || !change) return
    const { states, writer } = this.#fold
    const { incarnation, ticks, metrics } = this.#parts
    const sequence = writer.lastSequence + 1
    const place = { event: aside.event, done: true, prev: shown.sequence }
    writer.send(aside.event, [valueOfChange(channelkey, change, place, incarnation, sequence)])
    states.set(channelkey, { state: change.state, sequence: change.removed ? 0 : sequence })
    ticks.arm(channelkey, dueMs(change.state))
    metrics.projectorRewritten.inc({ reason: 'rebuild' })
    this.#rewritten.add(channelkey)
  }

  /** A value that can't be read counts as nothing, and is replaced; null for one of a later release, which stays. */
  #shown(channelkey: string): Known | null {
    const { states } = this.#fold
    try {
      return states.get(channelkey)
    } catch (error) {
      if (error instanceof UnknownVersion) return null
      this.#parts.log.warn({ channelkey, error: String(error) }, 'a value that can not be read is replaced')
      return { state: initialState, sequence: states.sequence(channelkey) }
    }
  }
}
