import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeJsonBody, maxJsonDepth } from '../../src/domain/body.ts'

function value(bytes: Buffer | string, charset?: string): unknown {
  const body = decodeJsonBody(Buffer.from(bytes as string), charset)
  assert.ok(body.ok, JSON.stringify(body))
  return body.value
}

/** A body whose deepest value is at this depth. */
function nested(depth: number): string {
  return `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
}

test('body: one JSON object; BOM, trailing NULs and white space are ignored (rule 9)', () => {
  for (const source of ['{"a":1}', '\ufeff{"a":1}', '{"a":1}\0', '{"a":1}\r\n\0\0 \n', ' \n{"a":1}']) {
    assert.deepEqual(value(source), { a: 1 }, JSON.stringify(source))
  }
  assert.deepEqual(value('{"a":"One","a":"Two"}'), { a: 'Two' })
})

test('body: anything else is refused', () => {
  const refused = [
    '',
    '\0',
    '[]',
    '[{"a":1}]',
    'null',
    '1',
    '"a"',
    '{"a":1}{"a":2}',
    '{"a":1',
    "{'a':1}",
    '{"a":1,}',
  ]
  for (const source of [...refused, '{"a":NaN}', '{"a":01}', '\0{"a":1}', '{"a":"\n"}', 'song=a&artist=b']) {
    const body = decodeJsonBody(Buffer.from(source))
    assert.ok(!body.ok && body.message.length > 0, source)
  }
})

test('body: nested to the limit, refused one past it', () => {
  assert.ok(decodeJsonBody(Buffer.from(nested(maxJsonDepth))).ok)
  assert.ok(!decodeJsonBody(Buffer.from(nested(maxJsonDepth + 1))).ok)
  assert.ok(!decodeJsonBody(Buffer.from(nested(32_000))).ok)
})

test('body: bytes in another encoding', () => {
  const latin = Buffer.from('{"a":"\xdcber"}', 'latin1')
  const guessed = decodeJsonBody(latin)
  assert.ok(guessed.ok)
  assert.deepEqual(guessed.value, { a: 'Über' })
  assert.equal(guessed.warnings.length, 1)
  const declared = decodeJsonBody(latin, 'ISO-8859-1')
  assert.ok(declared.ok)
  assert.deepEqual(declared.value, { a: 'Über' })
  assert.deepEqual(declared.warnings, [])
  const unknown = decodeJsonBody(Buffer.from('{"a":"Ü"}'), 'klingon')
  assert.ok(unknown.ok)
  assert.equal(unknown.warnings.length, 1)
  assert.deepEqual(value(Buffer.from('\ufeff{"a":"Ü"}', 'utf16le'), 'utf-16'), { a: 'Ü' })
})

test('body: any bytes are read or refused, never thrown at, and in linear time', () => {
  fc.assert(fc.property(fc.uint8Array(), bytes => void decodeJsonBody(Buffer.from(bytes))))
  const startMs = performance.now()
  decodeJsonBody(Buffer.from(`{"a":${' '.repeat(64_000)}x`))
  decodeJsonBody(Buffer.from(`{"a":${'\0'.repeat(64_000)}x`))
  assert.ok(performance.now() - startMs < 1000)
})

test('body: an object that was written is read back', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 })), object => {
      assert.deepEqual(value(JSON.stringify(object)), JSON.parse(JSON.stringify(object)))
    }),
  )
})
