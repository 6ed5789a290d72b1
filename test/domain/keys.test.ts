// Keys and tokens: their forms at the limit and one past it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateToken, isKey, isMetaid, isToken } from '../../src/domain/keys.ts'

test('a generated token is 32 URL-safe characters, none alike, and never looks like a flag', () => {
  const tokens = Array.from({ length: 5_000 }, generateToken)
  for (const token of tokens) {
    assert.match(token, /^[A-Za-z0-9][A-Za-z0-9_-]{31}$/)
    assert.ok(isToken(token))
  }
  assert.equal(new Set(tokens).size, tokens.length)
})

const forms: Array<[name: string, is: (text: string) => boolean, good: string[], bad: string[]]> = [
  ['key', isKey, ['a', '-', 'A_z-9', 'x'.repeat(64)], ['', 'ä', 'a.b', 'a b', 'x'.repeat(65)]],
  ['metaid', isMetaid, ['a', 'a.b~c', 'x'.repeat(128)], ['', '.', '...', 'a/b', 'x'.repeat(129)]],
  [
    'token',
    isToken,
    ['x'.repeat(16), '-'.repeat(128)],
    ['x'.repeat(15), 'x'.repeat(129), `${'x'.repeat(16)}%`],
  ],
]
for (const [name, is, good, bad] of forms)
  test(`the form of a ${name}`, () => {
    for (const text of good) assert.ok(is(text), text)
    for (const text of bad) assert.ok(!is(text), text)
  })
