// Random channels for the model's test: what is said is told by what it is near to, so that most of it falls on the
// edges of the rules.
import fc from 'fast-check'
import type { ChannelContext, Fallback, Tracktype } from '../../src/domain/event.ts'
import type { Told } from '../helpers/story.ts'

/** Moments of a channel, as its model knows them; `last` is that of the last event. */
export type Anchor = 'last' | 'nowStart' | 'nowReceived' | 'nowArrival' | 'nowEnd' | 'past' | NextAnchor
type NextAnchor = 'nextStart' | 'nextArrival' | 'nextEnd' | 'held' | 'due'

/** `offsetMs` from the anchor, or from the last event where there is no such moment. */
export type When = { near: Anchor; offsetMs: number }

/** Something that was said before, of which a push takes text or id. */
export type Like = 'now' | 'next' | 'held' | 'past'

/** A text in full, a `like`, or with the artist of such a one and another song. */
export type Text = string | { like: Like } | { artistOf: Like }

export type Push = {
  kind: Tracktype
  text: Text
  told: Omit<Told, 'id'>
  id: string | { like: Like } | null
  /** The pushed time. */
  time: When | null
  received: When
  /** Which play before the current one is meant by "past". */
  past: number
  /** The intake has not heard of the newest registry entry yet. */
  isStale: boolean
}

export type Command = {
  at: When
  /** What falls due before it is ticked: at its time, so many ms late, or not at all. */
  ticks: 'prompt' | 'none' | number
  /** After it the state goes through its encoding, as when another projector takes over. */
  isTakeover: boolean
  does:
    | ({ do: 'push' } & Push)
    /** Many pushes ahead. */
    | { do: 'fill'; count: number; stepMs: number }
    /** Many plays with times, 40 s apart. */
    | { do: 'play'; count: number }
    | { do: 'change'; options: Options }
    /** `ago`: of the newest registry entry (0), or so many revisions back. */
    | { do: 'delete'; ago: number }
    | { do: 'tick' }
}

const second = 1000
const minute = 60 * second

/** A moment an edge away from an anchor, or 1 ms beside that. */
function edges(...places: Array<[near: Anchor, ...offsetsMs: number[]]>): fc.Arbitrary<When> {
  const whens = places.flatMap(([near, ...offsets]) => offsets.map(offsetMs => ({ near, offsetMs })))
  return fc
    .tuple(fc.constantFrom(...whens), fc.constantFrom(-1, 0, 0, 1))
    .map(([{ near, offsetMs }, besideMs]) => ({ near, offsetMs: offsetMs + besideMs }))
}

function near(anchor: Anchor, min: number, max: number): fc.Arbitrary<When> {
  return fc.record({ near: fc.constant(anchor), offsetMs: fc.integer({ min, max }) })
}

const at = fc.oneof(
  { weight: 2, arbitrary: near('last', 0, 20 * second) },
  { weight: 1, arbitrary: near('last', 0, 20 * minute) },
  {
    weight: 6,
    arbitrary: edges(
      ['nowArrival', 15 * second, 10 * minute],
      ['nowEnd', 0, 10 * second],
      ['nextArrival', 15 * second, 30 * second, 10 * minute],
      ['nextEnd', 0],
      ['held', 0, 15 * second],
      ['due', 0],
    ),
  },
)

const time = fc.oneof(
  { weight: 1, arbitrary: near('last', -4000 * second, 4000 * second) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<When>({ near: 'last', offsetMs: 0 }, { near: 'past', offsetMs: 0 }),
  },
  {
    weight: 6,
    arbitrary: edges(
      ['last', 250, 15 * second, 30 * second, 45 * second, 10 * minute, 615 * second, -10 * minute],
      ['nowStart', 0, 0, 15 * second, -15 * second, -2 * second, -2 * second, -10 * minute, -10 * minute],
      ['nextStart', 0, 15 * second, -15 * second],
      ['held', 0, 15 * second, -15 * second],
      ['past', 0],
    ),
  },
)

const received = fc.oneof(
  { weight: 6, arbitrary: fc.constant<When>({ near: 'last', offsetMs: 0 }) },
  { weight: 1, arbitrary: near('last', -100 * second, 100 * second) },
  { weight: 2, arbitrary: edges(['nowReceived', -second], ['last', -15 * second, 15 * second]) },
)

const like = fc.constantFrom<Like>('now', 'now', 'next', 'held', 'past')
const sayings = fc.constantFrom('A - X', 'A - Y', 'B - X', 'C - Z', 'X', '')
const text: fc.Arbitrary<Text> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ like }) },
  { weight: 1, arbitrary: fc.record({ artistOf: like }) },
  { weight: 3, arbitrary: sayings },
)
const id = fc.option(fc.oneof(fc.constantFrom('i', 'j', 'k'), fc.record({ like })))

const told: fc.Arbitrary<Told> = fc.record(
  {
    duration: fc.constantFrom(0, 1, 20, 60, 61, 200, 700),
    etype: fc.constantFrom(0, 100, 101, 105, 106),
    cover: fc.constantFrom('http://a/1', 'http://a/2', 'http://a/default'),
    album: fc.constantFrom('One', 'Two'),
    intake: fc.constantFrom('intake-1', 'intake-2'),
  },
  { requiredKeys: [] },
)

const push = fc.record({
  do: fc.constant('push' as const),
  kind: fc.constantFrom<Tracktype>('now', 'now', 'next'),
  text,
  told,
  id,
  time: fc.option(time, { freq: 2 }),
  received,
  past: fc.constantFrom(1, 2, 18, 19, 20),
  isStale: fc.nat(19).map(n => n === 0),
})

/** What was said before, said again: the same time, and the same text or id. */
const startOf = { now: 'nowStart', next: 'nextStart', held: 'held', past: 'past' } as const
const again = fc
  .record({ push, of: like, offsetMs: fc.constantFrom(0, 0, 15 * second, 15 * second + 1), same: fc.nat(2) })
  .map(({ push, of, offsetMs, same }) => ({
    ...push,
    text: same === 0 ? push.text : { like: of },
    id: same === 1 ? push.id : { like: of },
    time: { near: startOf[of], offsetMs },
  }))

const fallback: fc.Arbitrary<Fallback> = fc
  .record({
    song: fc.constant('X'),
    artist: fc.constantFrom('Station', 'A'),
    afterSeconds: fc.constantFrom(0, 1, 20),
    unknown: fc.option(fc.constantFrom(0, 5, 600)),
  })
  .map(({ unknown, ...rest }) => (unknown === null ? rest : { ...rest, unknownAfterSeconds: unknown }))

/** The options that the reducer looks at. */
export type Options = Pick<ChannelContext, 'holdSeconds' | 'announceNext' | 'cover' | 'fallback'>

const options: fc.Arbitrary<Options> = fc.record({
  holdSeconds: fc.constantFrom(0, 30, 600),
  announceNext: fc.nat(4).map(n => n > 0),
  cover: fc.constantFrom('', 'http://a/default'),
  fallback: fc.option(fallback),
})

const rare: fc.Arbitrary<Command['does']> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('change'), options }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tick') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete'), ago: fc.constantFrom(-1, -1, 0, 1, 2) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('fill'),
      count: fc.integer({ min: 2, max: 36 }),
      stepMs: fc.constantFrom(-400, 0, 100, 700),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('play'), count: fc.integer({ min: 19, max: 22 }) }) },
)

const command: fc.Arbitrary<Command> = fc.record({
  at,
  ticks: fc.constantFrom<Command['ticks']>('prompt', 'prompt', 'none', 1, 250, 3000),
  isTakeover: fc.boolean(),
  does: fc.oneof(
    { weight: 7, arbitrary: push },
    { weight: 2, arbitrary: again },
    { weight: 1, arbitrary: rare },
  ),
})

export type Channel = { first: Options; commands: Command[] }

export const channels: fc.Arbitrary<Channel> = fc.record({
  first: options,
  commands: fc.array(command, { minLength: 1, maxLength: 20, size: 'max' }),
})
