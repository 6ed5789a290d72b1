// The memory for clients that come back: never a record too few without saying so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Frame } from '../../src/edge/channel-state.ts'
import { defaultRecentLimits, endOf, placeOf, Recent } from '../../src/edge/recent.ts'

const frame = (channelkey: string, stationkey: string, type: 'now' | 'next' = 'now', size = 100): Frame => ({
  channelkey,
  stationkey,
  type,
  bytes: new Uint8Array(size),
})

test('places order as positions do', () => {
  const places = [1, 2].flatMap(sequence => ([0, 1] as const).map(slot => placeOf({ sequence, slot })))
  assert.deepEqual(places, [2, 3, 4, 5])
  assert.equal(endOf(2), placeOf({ sequence: 2, slot: 1 }))
})

test('the last 32 records of a channel, and not one more', () => {
  const recent = new Recent()
  recent.start()
  const { perChannel } = defaultRecentLimits
  for (let sequence = 1; sequence <= perChannel; sequence++) recent.add(sequence, [frame('a', 's')])
  assert.equal(recent.after('channel', 'a', endOf(0))?.length, perChannel)
  recent.add(perChannel + 1, [frame('a', 's')])
  assert.equal(recent.after('channel', 'a', endOf(0)), undefined)
  assert.equal(recent.after('channel', 'a', endOf(1))?.length, perChannel)
  // A station keeps more.
  assert.equal(recent.after('station', 's', endOf(0))?.length, perChannel + 1)
})

test('all in all no more than its bytes: the oldest go first, of whichever channel', () => {
  const recent = new Recent({ perChannel: 32, perStation: 32, bytes: 6 * 300 })
  recent.start()
  // Each record stands in the ring of its channel and that of its station.
  for (let sequence = 1; sequence <= 3; sequence++) recent.add(sequence, [frame(`${sequence}`, 's')])
  assert.equal(recent.bytes, 6 * 300)
  assert.equal(recent.after('channel', '1', 1)?.length, 1)
  recent.add(4, [frame('4', 's')])
  assert.equal(recent.bytes, 6 * 300)
  assert.equal(recent.after('channel', '1', 1), undefined)
  assert.equal(recent.after('channel', '1', endOf(1))?.length, 0)
  assert.equal(recent.after('station', 's', endOf(1))?.length, 3)
})

test('before the snapshot is complete, and of what it superseded, it knows nothing', () => {
  const recent = new Recent()
  recent.add(7, [frame('a', 's')])
  assert.equal(recent.after('channel', 'a', endOf(7)), undefined)
  recent.start()
  assert.equal(recent.after('channel', 'a', endOf(6)), undefined)
  assert.deepEqual(recent.after('channel', 'a', endOf(7)), [])
  assert.deepEqual(recent.after('channel', 'unheard', endOf(7)), [])
})

test('waiting for a sequence: reached, passed, or not in time', async () => {
  const recent = new Recent()
  recent.start()
  const [exact, passed] = [recent.reach(1, 10_000), recent.reach(2, 10_000)]
  recent.add(1, [])
  recent.add(3, [])
  assert.deepEqual(await Promise.all([exact, passed]), [true, true])
  assert.equal(await recent.reach(3, 0), true)
  // The edge's sockets keep the process alive, its timers don't.
  const alive = setInterval(() => undefined, 1_000)
  assert.equal(await recent.reach(4, 1), false)
  clearInterval(alive)
})

test('property: what it answers is exactly what was sent after the place', () => {
  const change = fc.record({
    channel: fc.constantFrom('a', 'b', 'c'),
    station: fc.constantFrom('s', 't'),
    send: fc.subarray(['next', 'now'] as const),
    size: fc.integer({ min: 0, max: 400 }),
  })
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 60 }),
      fc.nat(10),
      fc.record({
        perChannel: fc.integer({ min: 1, max: 5 }),
        perStation: fc.integer({ min: 1, max: 12 }),
        bytes: fc.integer({ min: 500, max: 8_000 }),
      }),
      (changes, startAt, limits) => {
        const recent = new Recent(limits)
        const sent: Array<Frame & { place: number }> = []
        if (startAt === 0) recent.start()
        for (const [index, { channel, station, send, size }] of changes.entries()) {
          const sequence = index + 1
          const frames = send.map(type => frame(channel, station, type, size))
          recent.add(sequence, frames)
          for (const each of frames)
            sent.push({ ...each, place: placeOf({ sequence, slot: each.type === 'now' ? 1 : 0 }) })
          if (sequence === startAt) recent.start()
          assert.ok(recent.bytes <= limits.bytes)
        }
        for (let place = 0; place <= endOf(changes.length); place++)
          for (const [scope, key] of [
            ['channel', 'a'],
            ['channel', 'b'],
            ['station', 's'],
          ] as const) {
            const kept = recent.after(scope, key, place)
            const expected = sent.filter(
              each => each.place > place && (scope === 'channel' ? each.channelkey : each.stationkey) === key,
            )
            if (kept !== undefined)
              assert.deepEqual(
                kept.map(each => each.place),
                expected.map(each => each.place),
              )
            else assert.ok(changes.length < startAt || place < endOf(changes.length))
          }
      },
    ),
  )
})
