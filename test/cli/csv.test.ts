import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvField, csvFields, delimiterOf, isOpen } from '../../src/cli/csv.ts'

for (const [record, fields] of [
  ['', ['']],
  ['a,b', ['a', 'b']],
  ['a,', ['a', '']],
  [',', ['', '']],
  ['"a,b",c', ['a,b', 'c']],
  ['"say ""hi""",""', ['say "hi"', '']],
  ['"a\r\nb"', ['a\r\nb']],
  ['a"b', null],
  ['"a"b', null],
  ['"a', null],
] as const) {
  test(`csv: ${JSON.stringify(record)}`, () => assert.deepEqual(csvFields(record, ','), fields))
}

test('the delimiter is the one that the head line uses', () => {
  assert.deepEqual(['a,b', 'a;b', 'a\tb', 'a', 'a;b;c,d'].map(delimiterOf), [',', ';', '\t', ',', ';'])
})

test('what was written is read back, and is open as long as its quote is', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), fields => {
      const record = fields.map(csvField).join(',')
      assert.deepEqual(csvFields(record, ','), fields)
      assert.equal(isOpen(record), false)
    }),
  )
  assert.equal(isOpen('a,"b'), true)
})
