import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodePosition, encodePosition } from '../../src/log/position.ts'

const incarnation = fc.stringMatching(/^[0-9a-f]{8}$/)
const place = fc.record({ sequence: fc.integer({ min: 0, max: 2 ** 47 - 1 }), slot: fc.constantFrom(0, 1) })

test('a position means its place', () => {
  fc.assert(
    fc.property(incarnation, place, (life, where) => {
      const text = encodePosition(life, where as { sequence: number; slot: 0 | 1 })
      assert.match(text, /^[A-Za-z0-9_-]{16}$/)
      assert.deepEqual(decodePosition(text), { ...where, incarnation: life })
    }),
  )
})

test('a position with one character changed is malformed', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  let accepted = 0
  const runs = 2_000
  fc.assert(
    fc.property(place, fc.nat(15), fc.constantFrom(...alphabet), (where, index, other) => {
      const text = encodePosition('0badcafe', where as { sequence: number; slot: 0 | 1 })
      const changed = text.slice(0, index) + other + text.slice(index + 1)
      if (changed !== text && decodePosition(changed) !== undefined) accepted++
    }),
    { numRuns: runs },
  )
  assert.ok(accepted <= 3, `${accepted} of ${runs} were taken`)
})

test('anything else is malformed and never throws', () => {
  for (const text of [
    '',
    'x',
    'AAAAAAAAAAAAAAA',
    'AAAAAAAAAAAAAAAAA',
    'AAAAAAAAAAAAAAA=',
    '0123456789abcde ',
  ]) {
    assert.equal(decodePosition(text), undefined)
  }
  fc.assert(fc.property(fc.string(), text => void decodePosition(text)))
})

test('neighbours look unlike', () => {
  const texts = [1, 2, 3, 4].map(sequence => encodePosition('00000000', { sequence, slot: 1 }))
  assert.equal(new Set(texts.map(text => text.slice(0, 4))).size, 4)
})
