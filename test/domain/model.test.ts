// The reducer against the model: random channels told to both, compared after each event.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { ChannelContext, LoggedEvent, NowNextEvent, PushEvent } from '../../src/domain/event.ts'
import { dueMs, reduce } from '../../src/domain/now-next.ts'
import { isEmptyNext, type MetadataRecord } from '../../src/domain/record.ts'
import { type Change, type ChannelState, initialState } from '../../src/domain/state.ts'
import { encodeValue, readFolded } from '../../src/domain/value.ts'
import { plainContext, pushEvent, type Told, zeroMs } from '../helpers/story.ts'
import { Model } from './model.ts'
import {
  type Anchor,
  type Command,
  channels,
  type Like,
  type Options,
  type Push,
  type Text,
  type When,
} from './model-story.ts'
import { end, type Seen } from './model-words.ts'

const second = 1000

/** One channel, told event by event to the reducer and to the model. */
class Duel {
  readonly #model = new Model()
  #state: ChannelState = initialState
  #timeMs = zeroMs
  #sequence = 0
  #revision = 1
  readonly #contexts: ChannelContext[]
  readonly #fallbackIds = new Map<number, string>()
  readonly #trace: Array<() => string[]> = []

  constructor(first: Options) {
    this.#contexts = [{ ...plainContext, ...first }]
  }

  run({ at, ticks, isTakeover, does }: Command): void {
    const untilMs = Math.max(this.#timeMs, this.#moment(at))
    this.#letTick(ticks, untilMs)
    this.#timeMs = untilMs
    switch (does.do) {
      case 'push':
        this.#push(does)
        break
      case 'fill':
        for (let n = 0; n < does.count; n += 1) this.#say(`D - ${n}`, 20 * second + n * does.stepMs)
        break
      case 'play':
        for (let n = 0; n < does.count; n += 1) {
          this.#timeMs += 40 * second
          this.#say(`E - ${n}`, 0, { id: `e${n}` })
        }
        break
      case 'change':
        this.#contexts.push({ ...this.#context, ...does.options, revision: ++this.#revision })
        break
      case 'delete':
        this.#delete(does.ago)
        break
      case 'tick':
        this.#tell({ v: 1, kind: 'tick' })
    }
    if (isTakeover) this.#state = throughValue(asChange(this.#state))
  }

  get #context(): ChannelContext {
    return this.#contexts.at(-1) ?? plainContext
  }

  #letTick(ticks: Command['ticks'], untilMs: number) {
    if (ticks === 'none') return
    const lateMs = ticks === 'prompt' ? 0 : ticks
    for (let due = this.#model.dueMs; due !== null && due + lateMs <= untilMs; due = this.#model.dueMs) {
      this.#timeMs = Math.max(this.#timeMs, due + lateMs)
      this.#tell({ v: 1, kind: 'tick' })
    }
  }

  #delete(ago: number) {
    const revision = this.#revision - ago
    if (ago < 0) {
      this.#revision += 1
      this.#contexts.push({ ...this.#context, revision: ++this.#revision })
    }
    this.#tell({ v: 1, kind: 'delete', revision })
  }

  #push({ kind, text, told, id, time, received, past, isStale }: Push) {
    const context = isStale ? (this.#contexts.at(-2) ?? this.#context) : this.#context
    const likeId = id === null || typeof id === 'string' ? id : this.#like(id.like, past)?.id
    const withId = likeId && !likeId.startsWith('generated') ? { id: likeId } : {}
    const withTime = time && { time: inStory(this.#moment(time, past)) }
    const receivedAt = inStory(this.#moment(received))
    const toldAll = { ...told, ...withId, ...withTime, receivedAt }
    this.#tellPush(pushEvent(kind, inStory(this.#timeMs), this.#words(text, past), toldAll, context))
  }

  #say(text: string, aheadMs: number, told: Told = {}) {
    const time = inStory(this.#timeMs + aheadMs)
    this.#tellPush(pushEvent('now', inStory(this.#timeMs), text, { ...told, time }, this.#context))
  }

  #tellPush(event: PushEvent) {
    const id = event.given.includes('id') ? event.element.id : `generated-${this.#sequence + 1}`
    this.#tell({ ...event, element: { ...event.element, id } })
  }

  #words(text: Text, past: number): string {
    if (typeof text === 'string') return text
    const told = this.#like('like' in text ? text.like : text.artistOf, past)
    if (!told) return 'A - X'
    const song = 'like' in text ? told.song : 'Y'
    return told.artist === '' ? song : `${told.artist} - ${song}`
  }

  #like(like: Like, past: number): { artist: string; song: string; id: string | null } | undefined {
    const model = this.#model
    const told = { now: model.now?.element, next: model.next?.element, held: model.held[0]?.push.element }
    return like === 'past' ? model.past.at(-1 - past) : told[like]
  }

  #moment({ near, offsetMs }: When, past = 1): number {
    const { now, next, held, past: plays, dueMs } = this.#model
    const anchors: Record<Anchor, number | null | undefined> = {
      last: this.#timeMs,
      nowStart: now?.explicitMs,
      nowReceived: now?.push.receivedMs,
      nowArrival: now?.arrivalMs,
      nowEnd: now && end(now),
      past: plays.at(-1 - past)?.pushedMs,
      nextStart: next?.explicitMs,
      nextArrival: next?.arrivalMs,
      nextEnd: next?.endMs,
      held: held[0]?.startMs,
      due: dueMs,
    }
    return (anchors[near] ?? this.#timeMs) + offsetMs
  }

  #tell(event: NowNextEvent) {
    const logged = { channelkey: 'channel', sequence: ++this.#sequence, timeMs: this.#timeMs, event }
    this.#trace.push(() => [describe(logged)])
    const changes = reduce(this.#state, logged)
    this.#checkRedelivery(changes, logged)
    this.#state = changes.at(-1)?.state ?? this.#state
    const expected = this.#model.tell(logged)
    const current = changes.at(-1)
    this.#checkFallbackId()
    const got = {
      sent: changes.flatMap(change => change.send.map(type => this.#record(change[type]))),
      plays: changes.flatMap(change => this.#play(change)),
      now: this.#record(this.#state.now?.record ?? null),
      next: this.#state.context?.announceNext ? this.#record(this.#state.next?.record ?? null) : null,
      due: dueMs(this.#state),
    }
    const wanted = {
      sent: expected.sent.map(line),
      plays: expected.plays.map(({ kind, seen }) => `${kind} ${line(seen)}`),
      now: this.#model.shownNow && line(this.#model.shownNow),
      next: this.#model.shownNext && line(this.#model.shownNext),
      due: this.#model.dueMs,
    }
    this.#trace.push(() => [
      ...wanted.sent.map(text => `    ← ${text}`),
      ...wanted.plays.map(text => `    ${text}`),
    ])
    if (!isDeepStrictEqual(got, wanted)) {
      throw new Error(`${this.#told}\nreducer ${inspect(got)}\nmodel ${inspect(wanted)}`)
    }
    if (current && !current.removed) {
      assert.equal(this.#record(current.now), wanted.now)
      if (current.next && !isEmptyNext(current.next)) assert.equal(this.#record(current.next), wanted.next)
    }
  }

  get #told(): string {
    return this.#trace.flatMap(lines => lines()).join('\n')
  }

  /** One id for one due time (rule 17). */
  #checkFallbackId() {
    const { now } = this.#state
    if (now?.record.source !== 'fallback') return
    const known = this.#fallbackIds.get(now.startMs) ?? now.record.id
    assert.equal(now.record.id, known)
    this.#fallbackIds.set(now.startMs, known)
    assert.equal(new Set(this.#fallbackIds.values()).size, this.#fallbackIds.size)
  }

  /** Stopped between two values of one event, the next projector must say just the rest. */
  #checkRedelivery(changes: Change[], logged: LoggedEvent) {
    for (const index of new Set([0, changes.length - 2])) {
      const stoppedAt = changes[index]
      if (changes.length < 2 || stoppedAt === undefined) continue
      const rest = reduce(throughValue(stoppedAt), logged)
      if (isDeepStrictEqual(plain(rest), plain(changes.slice(index + 1)))) continue
      throw new Error(`${this.#told}\nredelivered ${inspect(rest, { depth: 5 })}`)
    }
  }

  #play({ play, now }: Change): string[] {
    if (play === null) return []
    if (play.kind === 'late') return [`late ${play.reason} ${this.#record(play.record)}`]
    return [`${play.kind} ${this.#record(now)}`]
  }

  /** As the model's line; a fallback's id is checked to be one id for one due time. */
  #record(record: MetadataRecord | null): string | null {
    if (record === null) return null
    const startMs = record.start_timestamp * second
    const text = line({ ...record, startMs })
    return record.source === 'fallback' ? text.replace(record.id, 'fallback') : text
  }
}

type Line = Pick<
  Seen,
  'type' | 'source' | 'artist' | 'song' | 'id' | 'startMs' | 'duration' | 'etype' | 'cover' | 'album'
>

function line({ type, source, artist, song, id, startMs, duration, etype, cover, album }: Line): string {
  const start = Math.floor((startMs - zeroMs) / second)
  return `${start} ${type} ${source} "${artist} - ${song}" ${id.replace(/^fallback .*/, 'fallback')} ${duration} s etype ${etype} ${cover} ${album}`
}

function describe({ sequence, timeMs, event }: LoggedEvent): string {
  const head = `${sequence} @${(timeMs - zeroMs) / 1000} ${event.kind}`
  if (event.kind === 'tick') return head
  if (event.kind === 'delete') return `${head} ${event.revision}`
  const { element, given, context } = event
  const fields = given.map(field => `${field}=${element[field]}`).join(' ')
  const time = event.explicit ? `time=${(event.startMs - zeroMs) / 1000}` : 'no time'
  const received = `received=${(event.receivedMs - zeroMs) / 1000} ${event.intake}`
  const { revision, holdSeconds, fallback, announceNext, cover } = context
  return `${head} ${fields} ${time} ${received} ${JSON.stringify({ revision, holdSeconds, fallback, announceNext, cover })}`
}

/** Without `undefined` members, as it comes back from JSON. */
function plain(changes: Change[]): unknown {
  return JSON.parse(JSON.stringify(changes))
}

/** The state as another projector reads it back. */
function throughValue(change: Change): ChannelState {
  if (change.removed) return { ...initialState, deletedRevision: change.state.deletedRevision }
  return readFolded(encodeValue(change, { event: 1, done: false, prev: 0 }, { now: 'p', next: 'q' })).state
}

function asChange(state: ChannelState): Change {
  const next = state.context?.announceNext ? (state.next?.record ?? null) : null
  return { state, now: state.now?.record ?? null, next, send: [], play: null, warnings: [], removed: false }
}

function inStory(timeMs: number): number {
  return (timeMs - zeroMs) / 1000
}

test('the reducer says what the model says', () => {
  const numRuns = Number(process.env['MODEL_RUNS'] ?? 300)
  const outcome = fc.check(
    fc.property(channels, ({ first, commands }) => {
      const duel = new Duel(first)
      for (const command of commands) duel.run(command)
    }),
    { numRuns },
  )
  if (!outcome.failed) return
  const { seed, counterexamplePath: path, errorInstance: cause } = outcome
  const why = cause instanceof Error ? cause.message : String(cause)
  throw new Error(`seed ${seed}, path ${path}\n${why}`)
})
