import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { didYouMean, editDistance } from '../../src/config/suggest.ts'

test('the distance of known pairs', () => {
  const pairs: Array<[string, string, number]> = [
    ['', '', 0],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
    ['port', 'prot', 2],
    ['edges', 'edge', 1],
  ]
  for (const [a, b, distance] of pairs) assert.equal(editDistance(a, b), distance, `${a} ${b}`)
})

test('the distance is a metric', () => {
  const word = fc.string({ maxLength: 8 })
  fc.assert(
    fc.property(word, word, word, (a, b, c) => {
      assert.equal(editDistance(a, b) === 0, a === b)
      assert.equal(editDistance(a, b), editDistance(b, a))
      assert.ok(editDistance(a, c) <= editDistance(a, b) + editDistance(b, c))
    }),
  )
})

test('the nearest is suggested, and nothing that is far', () => {
  assert.equal(didYouMean('statoin', ['channel', 'station']), ' (did you mean station?)')
  assert.equal(didYouMean('xyzzy', ['channel', 'station']), '')
  assert.equal(didYouMean('xy', ['ab']), '', 'a word of which nothing is right')
  assert.equal(didYouMean('N_PROT', ['N_PORT', 'N_DATA'], 'N_'), ' (did you mean N_PORT?)')
})
