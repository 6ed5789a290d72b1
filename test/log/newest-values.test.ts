import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HistoryValue } from '../../src/domain/value.ts'
import { NewestValues, newestLimits } from '../../src/log/newest-values.ts'

const value = (sequence: number, prev = sequence - 1): HistoryValue => ({
  sequence,
  prev,
  life: 0,
  play: null,
  now: null,
  warnings: [],
})
const sequences = (newest: NewestValues, key: string) => newest.get(key).map(({ sequence }) => sequence)

test('what was read is kept, followed, and read on', () => {
  const newest = new NewestValues()
  newest.reading('a')([value(5), value(4)])
  newest.changed('a', value(6))
  newest.changed('b', value(7))
  assert.deepEqual(sequences(newest, 'a'), [6, 5, 4])
  assert.deepEqual([newest.follows('a'), newest.follows('b')], [true, false])
  newest.reading('a')([value(6), value(5), value(4), value(3), value(2)])
  assert.deepEqual(sequences(newest, 'a'), [6, 5, 4, 3, 2])
})

test('a change that came while it was read, one that does not follow, and a marker: read anew', () => {
  const newest = new NewestValues()
  const take = newest.reading('a')
  newest.changed('a', value(6))
  take([value(5)])
  assert.deepEqual(sequences(newest, 'a'), [])
  for (const change of [value(9, 8), null]) {
    newest.reading('a')([value(6)])
    newest.changed('a', change)
    assert.deepEqual(sequences(newest, 'a'), [])
  }
})

test('the limits, and one past each', () => {
  const newest = new NewestValues()
  const full = Array.from({ length: newestLimits.values }, (_, index) => value(1000 - index))
  newest.reading('full')(full)
  assert.equal(newest.get('full').length, newestLimits.values)
  newest.changed('full', value(1001))
  assert.deepEqual([newest.get('full').length, sequences(newest, 'full')[0]], [newestLimits.values, 1001])
  for (let channel = 1; channel < newestLimits.channels; channel++) newest.reading(`c${channel}`)([value(1)])
  assert.equal(newest.get('full').length, newestLimits.values)
  newest.reading('one more')([value(1)])
  assert.deepEqual([newest.follows('full'), newest.follows('c1')], [true, false])
})
