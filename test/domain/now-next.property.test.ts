import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LoggedEvent, NowNextEvent } from '../../src/domain/event.ts'
import { maxHeld } from '../../src/domain/hold.ts'
import { dueMs, reduce } from '../../src/domain/now-next.ts'
import { type Change, type ChannelState, initialState } from '../../src/domain/state.ts'
import { encodeValue, readFolded, readValue } from '../../src/domain/value.ts'
import { plainContext, pushEvent, type Told, zeroMs } from '../helpers/story.ts'

const texts = ['A - One', 'B - Two', 'C - Three', '', 'F - Back']
const seconds = fc.double({ min: -4000, max: 4000, noNaN: true, noDefaultInfinity: true })
const told = fc.record(
  {
    time: fc.oneof(seconds, fc.double({ min: -5, max: 40, noNaN: true, noDefaultInfinity: true })),
    id: fc.constantFrom('1', '2', '3'),
    duration: fc.constantFrom(0, 5, 60, 180, 7200),
    etype: fc.constantFrom(0, 103, 1001),
    cover: fc.constantFrom('', 'https://c.example/1'),
    extdata: fc.constantFrom('{"big":12345678901234567890,"b":1,"1":2}', '{}'),
    intake: fc.constantFrom('intake-1', 'intake-2'),
  },
  { requiredKeys: [] },
)
const context = fc.record({
  announceNext: fc.boolean(),
  holdSeconds: fc.constantFrom(0, 30, 600),
  fallback: fc.constantFrom(null, { song: 'Back', artist: 'F', afterSeconds: 10, unknownAfterSeconds: 300 }),
})
const step = fc.record({
  afterSeconds: fc.oneof(fc.constantFrom(0, 0.1, 1, 10, 20, 70, 300), fc.nat(5000)),
  kind: fc.constantFrom('now', 'now', 'now', 'next', 'next', 'tick', 'delete'),
  text: fc.constantFrom(...texts),
  told,
  late: fc.constantFrom(0, 0, 0, 2, 20),
  context,
})

/** A log of one channel: time never goes back, revisions grow with each removal. */
const log = fc.array(step, { minLength: 1, maxLength: 25 }).map(steps => {
  let at = 0
  let revision = 1
  return steps.map((s, index): LoggedEvent => {
    at += s.afterSeconds
    if (s.kind === 'delete') revision += 2
    const event: NowNextEvent =
      s.kind === 'tick'
        ? { v: 1, kind: 'tick' }
        : s.kind === 'delete'
          ? { v: 1, kind: 'delete', revision: revision - 1 }
          : pushEvent(
              s.kind === 'next' ? 'next' : 'now',
              at,
              s.text,
              { ...(s.told as Told), receivedAt: at - s.late },
              { ...plainContext, ...s.context, revision },
            )
    return { channelkey: 'channel', sequence: index + 1, timeMs: zeroMs + Math.round(at * 1000), event }
  })
})

function fold(state: ChannelState, events: LoggedEvent[]): { state: ChannelState; changes: Change[] } {
  const changes: Change[] = []
  let current = state
  for (const event of events) {
    const made = reduce(current, event)
    changes.push(...made)
    current = made.at(-1)?.state ?? current
  }
  return { state: current, changes }
}

/** The state as a projector that takes over finds it: written to the bucket and read again. */
function reloaded(change: Change): ChannelState {
  const json = encodeValue(change, { event: 1, done: true, prev: 0 }, { now: 'n', next: 'x' })
  return change.removed ? change.state : readFolded(json).state
}

test('a replay of any prefix, a takeover, and the rest equal the whole', () => {
  fc.assert(
    fc.property(log, fc.nat(), (events, cut) => {
      const at = cut % (events.length + 1)
      const whole = fold(initialState, events)
      const prefix = fold(initialState, events.slice(0, at))
      const last = prefix.changes.at(-1)
      const rest = fold(last ? reloaded(last) : initialState, events.slice(at))
      assert.deepEqual([...prefix.changes, ...rest.changes].map(plain), whole.changes.map(plain))
    }),
    { numRuns: 400 },
  )
})

test('an event folded again after any of its changes but the last yields the rest', () => {
  fc.assert(
    fc.property(log, events => {
      let state = initialState
      for (const event of events) {
        const changes = reduce(state, event)
        changes.slice(0, -1).forEach((change, index) => {
          assert.deepEqual(reduce(reloaded(change), event).map(plain), changes.slice(index + 1).map(plain))
        })
        state = changes.at(-1)?.state ?? state
      }
    }),
    { numRuns: 300 },
  )
})

test('after a tick nothing is due any more, no limit is passed, and what is sent is there', () => {
  fc.assert(
    fc.property(log, events => {
      let state = initialState
      for (const event of events) {
        const changes = reduce(state, event)
        state = changes.at(-1)?.state ?? state
        const due = dueMs(state)
        assert.ok(event.event.kind !== 'tick' || due === null || due > event.timeMs)
        assert.ok(state.held.length <= maxHeld && state.recent.length <= 20)
        for (const change of changes) {
          assert.ok(change.send.every(type => change[type] !== null))
          assert.equal(new Set(change.send).size, change.send.length)
          assert.ok(change.send.indexOf('next') <= 0)
        }
      }
    }),
    { numRuns: 400 },
  )
})

test('what goes to players is valid JSON with the pushed bytes of extdata, and survives the bucket', () => {
  fc.assert(
    fc.property(log, events => {
      for (const change of fold(initialState, events).changes) {
        const value = readValue(
          encodeValue(change, { event: 7, done: false, prev: 3 }, { now: 'pn', next: 'px' }),
        )
        assert.deepEqual([value.event, value.done, value.prev, value.send], [7, false, 3, change.send])
        assert.equal(value.nowJson === null, change.now === null)
        if (value.nowJson === null) continue
        const record = JSON.parse(value.nowJson)
        assert.equal(record.position, 'pn')
        assert.equal(Date.parse(record.time) / 1000, record.start_timestamp)
        if (change.now?.extdata) assert.ok(value.nowJson.includes(`"extdata":${change.now.extdata}`))
      }
    }),
    { numRuns: 200 },
  )
})

/** A change without `undefined` members, as it comes back from JSON. */
function plain(change: Change): unknown {
  return JSON.parse(JSON.stringify(change))
}
