import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PushEvent } from '../../src/domain/event.ts'
import {
  begin,
  decodeListener,
  difference,
  encodeListener,
  end,
  type Listener,
  type Overlay,
  overlayOf,
  type Session,
  visibleOverlay,
} from '../../src/domain/listener.ts'
import { decodeRecord } from '../../src/domain/record.ts'
import { emptyElement } from '../helpers/pushes.ts'

const session = (more: Partial<Session> = {}): Session => ({
  channelkey: 'main',
  client: '1',
  session: 's',
  mount: '/m',
  ...more,
})
const overlay: Overlay = { record: '{"song":"A"}', untilMs: 1_000 }
const covered: Listener = { session: session(), overlay }

describe('a session begins (rule 28)', () => {
  const table: Array<{ name: string; before: Listener | null; by: Session; overlay: Overlay | null }> = [
    { name: 'where there was none', before: null, by: session(), overlay: null },
    { name: 'again, as a sign of life: the overlay stays', before: covered, by: session(), overlay },
    { name: 'again, with other texts', before: covered, by: session({ session: 't' }), overlay },
    {
      name: 'of another client: the latest wins, the overlay goes',
      before: covered,
      by: session({ client: '2' }),
      overlay: null,
    },
    { name: 'on another channel', before: covered, by: session({ channelkey: 'rock' }), overlay: null },
  ]
  for (const { name, before, by, overlay: expected } of table) {
    test(name, () => assert.deepEqual(begin(before, by), { session: by, overlay: expected }))
  }
})

describe('a session ends (rule 28)', () => {
  const table = [
    { name: 'its own client', channelkey: 'main', client: '1', ends: true },
    { name: 'another client', channelkey: 'main', client: '2', ends: false },
    { name: 'no client named', channelkey: 'main', client: null, ends: true },
    { name: 'the empty client', channelkey: 'main', client: '', ends: false },
    { name: 'another channel', channelkey: 'rock', client: '1', ends: false },
    { name: 'another channel, no client', channelkey: 'rock', client: null, ends: false },
  ]
  for (const { name, channelkey, client, ends } of table) {
    test(name, () => assert.equal(end(covered, channelkey, client), ends ? null : covered))
  }
  test('there is none', () => assert.equal(end(null, 'main', '1'), null))
})

describe('what an overlay shows and for how long (rule 18)', () => {
  const receivedMs = 1_800_000_000_000
  const minute = 60_000
  const push = (duration: number, startMs = receivedMs, song = 'Song'): PushEvent => ({
    v: 1,
    kind: 'now',
    element: { ...emptyElement, id: 'id', song, duration, extdata: '{"n":12345678901234567890}' },
    given: [],
    startMs,
    explicit: startMs !== receivedMs,
    receivedMs,
    intake: 'i',
    warnings: [],
    context: {
      revision: 1,
      stationkey: 'radio',
      station: 'Radio',
      channel: 'Main',
      timezone: 'UTC',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
    },
  })
  const ends = [
    { name: 'start + duration', push: push(30), untilMs: receivedMs + 30_000 },
    { name: 'a start ahead', push: push(30, receivedMs + 5_000), untilMs: receivedMs + 35_000 },
    { name: 'a start behind', push: push(30, receivedMs - 5_000), untilMs: receivedMs + 25_000 },
    {
      name: 'a slow clock counts from the arrival',
      push: push(30, receivedMs - 11 * minute),
      untilMs: receivedMs + 30_000,
    },
    { name: 'duration 0: not by itself', push: push(0), untilMs: null },
  ]
  for (const { name, push, untilMs } of ends) {
    test(name, () => assert.equal(overlayOf('main', push)?.untilMs, untilMs))
  }
  test('empty texts withdraw it', () => assert.equal(overlayOf('main', push(30, receivedMs, '')), null))
  test('its record: personalised, without position, raw data untouched', () => {
    const json = overlayOf('main', push(30))?.record ?? ''
    assert.equal(JSON.parse(json).position, '')
    const record = decodeRecord(json)
    assert.deepEqual([record.userplayout, record.type, record.song], [true, 'now', 'Song'])
    assert.equal(record.extdata, '{"n":12345678901234567890}')
  })
  test('it is visible until its end, not at it', () => {
    assert.equal(visibleOverlay(covered, 999), overlay)
    assert.equal(visibleOverlay(covered, 1_000), null)
    assert.equal(
      visibleOverlay({ ...covered, overlay: { ...overlay, untilMs: null } }, 1e15)?.record,
      overlay.record,
    )
    assert.equal(visibleOverlay(null, 0), null)
    assert.equal(visibleOverlay({ ...covered, overlay: null }, 0), null)
  })
})

describe('what is sent when the sight changes', () => {
  const plain: Listener = { session: session(), overlay: null }
  const other = { ...overlay, record: '{"song":"B"}' }
  const table = [
    { name: 'the session begins', before: null, after: plain, what: 'all' },
    { name: 'the session ends', before: covered, after: null, what: 'nothing' },
    { name: 'there is none', before: null, after: null, what: 'nothing' },
    { name: 'nothing new', before: covered, after: { ...covered }, what: 'nothing' },
    {
      name: 'another client alone',
      before: plain,
      after: { ...plain, session: session({ client: '2' }) },
      what: 'nothing',
    },
    {
      name: 'another channel',
      before: plain,
      after: { ...plain, session: session({ channelkey: 'rock' }) },
      what: 'all',
    },
    {
      name: 'another session text',
      before: plain,
      after: { ...plain, session: session({ session: 't' }) },
      what: 'all',
    },
    {
      name: 'another mount',
      before: plain,
      after: { ...plain, session: session({ mount: '/n' }) },
      what: 'all',
    },
    { name: 'an overlay comes', before: plain, after: covered, what: 'now' },
    { name: 'another overlay', before: covered, after: { ...covered, overlay: other }, what: 'now' },
    { name: 'it ends', before: covered, after: plain, what: 'now' },
    {
      name: 'it lasts longer',
      before: covered,
      after: { ...covered, overlay: { ...overlay, untilMs: 5 } },
      what: 'nothing',
    },
  ]
  for (const { name, before, after, what } of table) {
    test(name, () => assert.equal(difference(before, after), what))
  }
})

test('a value is read as it was written; one of a later version is not', () => {
  assert.deepEqual(decodeListener(encodeListener(covered)), covered)
  assert.throws(() => decodeListener(encodeListener(covered).replace('"v":1', '"v":2')), /version 2/)
})
