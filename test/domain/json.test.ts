import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compact, depth, members } from '../../src/domain/json.ts'

/** JSON text of a value with white space wherever it may stand. */
function spaced(value: unknown): string {
  return JSON.stringify(value, null, ' \t').replaceAll('\n', '\r\n ')
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '{', '}', '[', ',', ':', '\\"', ' '),
)
const anyJson = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, 0, -0.5, 1e300),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(text, tie('value'), { maxKeys: 5, noNullPrototype: true }),
}))

test('json: members are what JSON.parse finds, in their own bytes', () => {
  fc.assert(
    fc.property(anyJson.object, object => {
      const expected = Object.entries(object as object)
      for (const source of [JSON.stringify(object), spaced(object)]) {
        const found = members(source)
        assert.deepEqual([...found.keys()].sort(), expected.map(([name]) => name).sort())
        for (const [name, value] of expected) {
          const raw = found.get(name) ?? ''
          assert.ok(source.includes(raw))
          assert.deepEqual(JSON.parse(raw), value)
        }
      }
    }),
  )
})

test('json: compact is JSON.stringify where nothing is lost', () => {
  fc.assert(
    fc.property(anyJson.value, value => {
      assert.equal(compact(spaced(value)), JSON.stringify(value))
    }),
  )
})

test('json: depth', () => {
  fc.assert(fc.property(anyJson.value, value => assert.equal(depth(spaced(value)), depthOf(value))))
  assert.equal(depth('"[{"'), 0)
  assert.equal(depth('{"a":[[1],2]}'), 3)
})

test('json: what JSON.parse would lose survives', () => {
  const source = '{ "b" : 12345678901234567890 , "2":1.0e+2, "1": "\\u00e4\\/", "b": -0.10 }'
  assert.equal(compact(source), '{"b":12345678901234567890,"2":1.0e+2,"1":"\\u00e4\\/","b":-0.10}')
  const found = members(source)
  assert.deepEqual(
    [...found],
    [
      ['b', '-0.10'],
      ['2', '1.0e+2'],
      ['1', '"\\u00e4\\/"'],
    ],
  )
})

test('json: the largest body takes no time to speak of', () => {
  const long = `{"a":"${'\\"'.repeat(32_000)}"}`
  assert.equal(compact(long), long)
  assert.equal(compact(`{"a":${' '.repeat(64_000)}1}`), '{"a":1}')
  assert.equal(depth('['.repeat(32_000) + ']'.repeat(32_000)), 32_000)
})

test('members: an object that is cut off anywhere is refused or read short, never waited for', () => {
  const whole = '{"a":"x\\"y","b":[1,{"c":"}"}],"d":{"e":null}}'
  for (let length = 0; length < whole.length; length++) {
    try {
      assert.ok(members(whole.slice(0, length)).size < 3)
    } catch (error) {
      assert.ok(error instanceof SyntaxError)
    }
  }
})
