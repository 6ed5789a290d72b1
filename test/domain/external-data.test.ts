import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeObject } from '../../src/domain/decode.ts'
import { maxExternalBytes } from '../../src/domain/normalise.ts'

const facts = { arrivalMs: Date.UTC(2026, 10, 27), zone: 'UTC' }

/** A push whose extdata and externalid are together so many bytes of UTF-8. */
function pushOf(bytes: number) {
  const externalid = 'é'.repeat(50)
  const frame = Buffer.byteLength(`{"a":""}"${externalid}"`)
  const body = { song: '', artist: '', duration: 0, extdata: { a: 'x'.repeat(bytes - frame) }, externalid }
  return decodeObject(body, JSON.stringify(body), facts)
}

test('extdata and externalid are bounded by what they are as UTF-8, at the limit and one past it', () => {
  assert.equal(pushOf(maxExternalBytes).ok, true)
  const past = pushOf(maxExternalBytes + 1)
  assert.deepEqual(past.ok ? [] : past.errors.map(({ field }) => field), ['extdata'])
})
