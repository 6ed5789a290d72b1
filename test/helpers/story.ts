// A channel told as a story: pushes at seconds, and what listeners were sent. The story keeps the log's clock,
// does what the intake does to a pushed time, and appends the ticks that the projector would append.
import type {
  ChannelContext,
  Element,
  ElementField,
  NowNextEvent,
  PushEvent,
  Tracktype,
} from '../../src/domain/event.ts'
import { dueMs, reduce } from '../../src/domain/now-next.ts'
import { textOf } from '../../src/domain/record.ts'
import { type Change, type ChannelState, initialState } from '../../src/domain/state.ts'
import { emptyElement } from './pushes.ts'

/** 2026-11-27T19:00:00Z: second 0 of every story. */
export const zeroMs = Date.UTC(2026, 10, 27, 19)

export const plainContext: ChannelContext = {
  revision: 1,
  stationkey: 'station',
  station: 'Station',
  channel: 'Channel',
  timezone: 'UTC',
  cover: '',
  holdSeconds: 30,
  fallback: null,
  announceNext: true,
}

/** What a push brings; `time` in seconds of the story, `text` as "artist - song". */
export type Told = Partial<Omit<Element, 'song' | 'artist'>> & {
  time?: number
  receivedAt?: number
  intake?: string
  warnings?: string[]
}

export class Story {
  state: ChannelState = initialState
  readonly changes: Array<Change & { sequence: number }> = []
  readonly sent: string[] = []
  readonly plays: string[] = []
  context: ChannelContext
  #sequence = 0

  constructor(context: Partial<ChannelContext> = {}) {
    this.context = { ...plainContext, ...context }
  }

  now(at: number, text: string, told: Told = {}): this {
    return this.push('now', at, text, told)
  }

  next(at: number, text: string, told: Told = {}): this {
    return this.push('next', at, text, told)
  }

  push(kind: Tracktype, at: number, text: string, told: Told = {}): this {
    return this.until(at).say(at, pushEvent(kind, at, text, told, this.context))
  }

  /** Lets time pass, with a tick for each thing that falls due. */
  until(at: number): this {
    for (let due = dueMs(this.state); due !== null && due < zeroMs + at * 1000; due = dueMs(this.state)) {
      this.say((due - zeroMs) / 1000, { v: 1, kind: 'tick' })
    }
    return this
  }

  say(at: number, event: NowNextEvent): this {
    const logged = {
      channelkey: 'channel',
      sequence: ++this.#sequence,
      timeMs: zeroMs + Math.round(at * 1000),
      event,
    }
    for (const change of reduce(this.state, logged)) {
      this.changes.push({ ...change, sequence: logged.sequence })
      for (const type of change.send) {
        const record = change[type]
        if (record === null) throw new Error(`sends a ${type} that is not there`)
        this.sent.push(`${at} ${type} ${textOf(record)}`)
      }
      if (change.play) {
        const record = change.play.kind === 'late' ? change.play.record : change.now
        const reason = change.play.kind === 'late' ? ` (${change.play.reason})` : ''
        this.plays.push(`${change.play.kind} ${record ? textOf(record) : ''}${reason}`)
      }
      this.state = change.state
    }
    return this
  }

  /** What is shown as `now`, with its start in seconds of the story: "12 Artist - Song". */
  get shown(): string {
    const now = this.state.now
    return now === null ? '' : `${now.record.start_timestamp - zeroMs / 1000} ${textOf(now.record)}`
  }

  get warnings(): string[] {
    return this.changes.flatMap(change => change.warnings)
  }
}

const plainElement: Element = { ...emptyElement, id: 'generated' }

/** The event that the intake appends for a push (rule 15's "further ahead" is its decision). */
export function pushEvent(
  kind: Tracktype,
  at: number,
  text: string,
  told: Told,
  context: ChannelContext,
): PushEvent {
  const { time, receivedAt = at, intake = 'intake-1', warnings = [], ...fields } = told
  const [artist = '', song = ''] = text.includes(' - ') ? text.split(' - ') : ['', text]
  const element = { ...plainElement, artist, song, ...fields }
  const given = (Object.keys({ artist, song, ...fields }) as ElementField[]).filter(field => element[field])
  const receivedMs = zeroMs + Math.round(receivedAt * 1000)
  const pushedMs = time === undefined ? null : zeroMs + Math.round(time * 1000)
  const isFarAhead = kind === 'now' && pushedMs !== null && pushedMs - receivedMs > context.holdSeconds * 1000
  const explicit = pushedMs !== null && !isFarAhead
  return {
    v: 1,
    kind,
    element,
    given,
    startMs: explicit && pushedMs !== null ? pushedMs : receivedMs,
    explicit,
    receivedMs,
    intake,
    warnings,
    context,
  }
}
