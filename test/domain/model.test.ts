// The reducer against the model: random channels told to both, compared after each event.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { ChannelContext, LoggedEvent, NowNextEvent } from '../../src/domain/event.ts'
import { dueMs, reduce } from '../../src/domain/now-next.ts'
import { isEmptyNext, type MetadataRecord } from '../../src/domain/record.ts'
import { type Change, type ChannelState, initialState } from '../../src/domain/state.ts'
import { encodeValue, readFolded } from '../../src/domain/value.ts'
import { plainContext, pushEvent, type Told, zeroMs } from '../helpers/story.ts'
import { Model, type Seen } from './model.ts'

/** A moment told by what it is near to; `offsetMs` is from there. */
type When = { near: Anchor; offsetMs: number }
type Anchor =
  | 'last'
  | 'nowStart'
  | 'nowArrival'
  | 'nowEnd'
  | 'nextArrival'
  | 'nextEnd'
  | 'held'
  | 'due'
  | 'past'

type Command = {
  at: When
  /** How what falls due before it is ticked: at its time, so many ms late, or not at all. */
  ticks: 'prompt' | 'none' | number
  /** After it the state goes through its encoding, as when another projector takes over. */
  takeover: boolean
  does:
    | { kind: 'now' | 'next'; text: string; told: Told; time: When | null; received: When; stale: boolean }
    | { kind: 'burst'; count: number; stepMs: number }
    | { kind: 'change'; context: Partial<ChannelContext> }
    | { kind: 'delete'; ago: number }
    | { kind: 'tick' }
}

const second = 1000
const edges = [0, 0.25, 1, 2, 10, 15, 30, 45, 60, 600, 615]
const edgeMs = fc
  .tuple(fc.constantFrom(...edges), fc.constantFrom(-1, 0, 1), fc.constantFrom(-1, 1))
  .map(([edge, millisecond, sign]) => sign * edge * second + millisecond)
const offsetMs = fc.oneof(
  { weight: 4, arbitrary: edgeMs },
  { weight: 1, arbitrary: fc.integer({ min: -20_000, max: 20_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -4_000_000, max: 4_000_000 }) },
)
const anchor = fc.constantFrom<Anchor>(
  ...(['last', 'last', 'last', 'nowStart', 'nowArrival', 'nowEnd'] as const),
  ...(['nextArrival', 'nextEnd', 'held', 'due', 'past'] as const),
)
const when = fc.record({ near: anchor, offsetMs })
const soon = fc.oneof(
  { weight: 2, arbitrary: fc.record({ near: fc.constant<Anchor>('last'), offsetMs: fc.nat(20_000) }) },
  { weight: 3, arbitrary: when },
)
const received = fc.oneof(
  { weight: 4, arbitrary: fc.constant<When>({ near: 'last', offsetMs: 0 }) },
  { weight: 1, arbitrary: fc.record({ near: fc.constant<Anchor>('last'), offsetMs }) },
)

/** Names what the model has then, so that much of what is said is about that. */
const like = ['like now', 'like next', 'like held', 'like past'] as const
const texts = [...like, ...like, 'A - X', 'A - Y', 'B - X', 'C - Z', 'X', '']

const told = fc.record<Told>(
  {
    id: fc.constantFrom('i', 'j', 'k', ...like),
    duration: fc.constantFrom(0, 1, 20, 60, 61, 200, 700),
    etype: fc.constantFrom(0, 100, 101, 105, 106),
    cover: fc.constantFrom('http://a/1', 'http://a/2', 'http://a/default'),
    album: fc.constantFrom('One', 'Two'),
    intake: fc.constantFrom('intake-1', 'intake-2'),
  },
  { requiredKeys: [] },
)

const push = fc.record({
  kind: fc.constantFrom('now', 'now', 'next'),
  text: fc.constantFrom(...texts),
  told,
  time: fc.option(when, { freq: 2 }),
  received,
  stale: fc.nat(9).map(n => n === 0),
})
const context = fc.record({
  holdSeconds: fc.constantFrom(0, 30, 600),
  announceNext: fc.nat(3).map(n => n > 0),
  cover: fc.constantFrom('', 'http://a/default'),
  fallback: fc.option(
    fc.record(
      {
        song: fc.constant('X'),
        artist: fc.constantFrom('Station', 'A'),
        afterSeconds: fc.constantFrom(0, 1, 20),
        unknownAfterSeconds: fc.constantFrom(0, 5, 600),
      },
      { requiredKeys: ['song', 'artist', 'afterSeconds'] },
    ),
  ),
})
const does: fc.Arbitrary<Command['does']> = fc.oneof(
  { weight: 16, arbitrary: push },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('change'), context }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('tick') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete'), ago: fc.constantFrom(-1, -1, 0, 1, 2) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('burst'),
      count: fc.integer({ min: 2, max: 36 }),
      stepMs: fc.constantFrom(-400, 0, 100, 700),
    }),
  },
)
const ticks = fc.constantFrom<Command['ticks']>('prompt', 'prompt', 'none', 1, 250, 3000)
const command: fc.Arbitrary<Command> = fc.record({ at: soon, ticks, takeover: fc.boolean(), does })
const story = fc.record({
  first: context,
  commands: fc.array(command, { minLength: 1, maxLength: 24, size: 'max' }),
})

class Duel {
  readonly model = new Model()
  state: ChannelState = initialState
  timeMs = zeroMs
  sequence = 0
  revision = 1
  contexts: ChannelContext[]
  fallbackIds = new Map<string, string>()
  #trace: Array<() => string[]> = []

  constructor(first: Partial<ChannelContext>) {
    this.contexts = [{ ...plainContext, ...first }]
  }

  run({ at, ticks, takeover, does }: Command): void {
    const untilMs = Math.max(this.timeMs, this.moment(at, this.timeMs))
    this.#tick(ticks, untilMs)
    this.timeMs = untilMs
    if (does.kind === 'tick') this.tell({ v: 1, kind: 'tick' })
    else if (does.kind === 'change')
      this.contexts.push({ ...this.#context, ...does.context, revision: ++this.revision })
    else if (does.kind === 'delete') this.#delete(does.ago)
    else if (does.kind === 'burst') this.#burst(does.count, does.stepMs)
    else {
      const { kind, time } = does
      const { id: likeId, ...told } = does.told
      const { text, id } = this.#alike(does.text, likeId)
      const pushed = time && { time: this.#story(this.moment(time, this.timeMs)) }
      const receivedAt = this.#story(this.moment(does.received, this.timeMs))
      const context = does.stale ? (this.contexts.at(-2) ?? this.#context) : this.#context
      this.#push(kind, text, { ...told, ...id, ...pushed, receivedAt }, context)
    }
    if (takeover) this.state = throughValue(asChange(this.state))
  }

  get #context(): ChannelContext {
    return this.contexts.at(-1) ?? plainContext
  }

  #tick(ticks: Command['ticks'], untilMs: number) {
    if (ticks === 'none') return
    const lateMs = ticks === 'prompt' ? 0 : ticks
    for (let due = this.model.dueMs; due !== null && due + lateMs <= untilMs; due = this.model.dueMs) {
      this.timeMs = Math.max(this.timeMs, due + lateMs)
      this.tell({ v: 1, kind: 'tick' })
    }
  }

  #delete(ago: number) {
    const revision = this.revision - ago
    if (ago < 0) {
      this.revision += 1
      this.contexts.push({ ...this.#context, revision: ++this.revision })
    }
    this.tell({ v: 1, kind: 'delete', revision })
  }

  #burst(count: number, stepMs: number) {
    for (let n = 0; n < count; n += 1) {
      const time = this.#story(this.timeMs + 20_000 + n * stepMs)
      this.#push('now', `D - ${n}`, { time }, this.#context)
    }
  }

  #push(kind: 'now' | 'next', text: string, told: Told, context: ChannelContext) {
    const event = pushEvent(kind, this.#story(this.timeMs), text, told, context)
    if (told.id === undefined) event.element.id = `generated-${this.sequence + 1}`
    this.tell(event)
  }

  /** "like now" and so on, as the texts and ids that these have. */
  #alike(text: string, id: string | undefined): { text: string; id: { id?: string } } {
    const { now, next, held, past } = this.model
    const [first] = held
    const those: Record<string, { artist: string; song: string; id: string | null } | null | undefined> = {
      'like now': now && { ...now.element, id: now.push.element.id },
      'like next': next && { ...next.element, id: next.push.element.id },
      'like held': first && { ...first.push.element },
      'like past': past.at(-2),
    }
    const told = text.startsWith('like') ? those[text] : undefined
    const alike = told ? [told.artist, told.song].filter(part => part !== '').join(' - ') : text
    if (id === undefined) return { text: alike, id: {} }
    const known = id.startsWith('like') ? those[id]?.id : id
    return { text: alike, id: known?.startsWith('generated') ? {} : { id: known ?? 'i' } }
  }

  #story(timeMs: number): number {
    return (timeMs - zeroMs) / 1000
  }

  moment({ near, offsetMs }: When, lastMs: number): number {
    const { now, next, held, past, dueMs } = this.model
    const anchors: Record<Anchor, number | null | undefined> = {
      last: lastMs,
      nowStart: now?.explicitMs,
      nowArrival: now?.arrivalMs,
      nowEnd: now && now.startMs + now.element.duration * second,
      nextArrival: next?.arrivalMs,
      nextEnd: next?.endMs,
      held: held[0]?.startMs,
      due: dueMs,
      past: past.at(-1 - (Math.abs(offsetMs) % 3))?.pushedMs,
    }
    if (near === 'past') return anchors.past ?? lastMs + offsetMs
    return (anchors[near] ?? lastMs) + offsetMs
  }

  tell(event: NowNextEvent) {
    const logged = { channelkey: 'channel', sequence: ++this.sequence, timeMs: this.timeMs, event }
    this.#trace.push(() => [describe(logged)])
    const changes = reduce(this.state, logged)
    this.#checkRedelivery(changes, logged)
    this.state = changes.at(-1)?.state ?? this.state
    const expected = this.model.tell(logged)
    const current = changes.at(-1)
    const got = {
      sent: changes.flatMap(change => change.send.map(type => this.#record(change[type]))),
      plays: changes.flatMap(change => this.#play(change)),
      now: this.#record(this.state.now?.record ?? null),
      next: this.state.context?.announceNext ? this.#record(this.state.next?.record ?? null) : null,
      due: dueMs(this.state),
    }
    const wanted = {
      sent: expected.sent.map(line),
      plays: expected.plays.map(({ kind, seen }) => `${kind} ${line(seen)}`),
      now: this.model.shownNow && line(this.model.shownNow),
      next: this.model.shownNext && line(this.model.shownNext),
      due: this.model.dueMs,
    }
    this.#trace.push(() => [
      ...wanted.sent.map(text => `    ← ${text}`),
      ...wanted.plays.map(text => `    ${text}`),
    ])
    if (!isDeepStrictEqual(got, wanted)) {
      throw new Error(`${this.told}\nreducer ${inspect(got)}\nmodel ${inspect(wanted)}`)
    }
    if (current && !current.removed) {
      assert.equal(this.#record(current.now), wanted.now)
      if (current.next && !isEmptyNext(current.next)) assert.equal(this.#record(current.next), wanted.next)
    }
  }

  get told(): string {
    return this.#trace.flatMap(lines => lines()).join('\n')
  }

  /** Stopped between two values of one event, the next projector must say just the rest. */
  #checkRedelivery(changes: Change[], logged: LoggedEvent) {
    for (const index of new Set([0, changes.length - 2])) {
      const stoppedAt = changes[index]
      if (changes.length < 2 || stoppedAt === undefined) continue
      const rest = reduce(throughValue(stoppedAt), logged)
      if (isDeepStrictEqual(plain(rest), plain(changes.slice(index + 1)))) continue
      throw new Error(`${this.told}\nredelivered ${inspect(rest, { depth: 5 })}`)
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

test('the reducer says what the model says', () => {
  const numRuns = Number(process.env['MODEL_RUNS'] ?? 300)
  const outcome = fc.check(
    fc.property(story, ({ first, commands }) => {
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
