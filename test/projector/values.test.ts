import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxValueBytes, valueOfChange } from '../../src/projector/values.ts'
import { Story } from '../helpers/story.ts'

const place = { event: 1, done: true, prev: 0 }

test('a value that could never be stored is refused before it is sent, so that its event is skipped', () => {
  const change = new Story().now(0, 'A - One', { extdata: '{}' }).changes[0] ?? assert.fail()
  const plain = valueOfChange('channel', change, place, '00000000', 1).json ?? assert.fail()
  const record = change.now ?? assert.fail()
  const sized = (bytes: number) => ({
    ...change,
    now: { ...record, extdata: `{"a":"${'x'.repeat(bytes - plain.length - 6)}"}` },
  })
  assert.equal(
    valueOfChange('channel', sized(maxValueBytes), place, '00000000', 1).json?.length,
    maxValueBytes,
  )
  assert.throws(() => valueOfChange('channel', sized(maxValueBytes + 1), place, '00000000', 1), RangeError)
})
