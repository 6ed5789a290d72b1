import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxQueryParameters, parseQuery } from '../../src/domain/query.ts'

function entries(raw: string): Record<string, string> {
  const parameters = parseQuery(raw)
  assert.ok(parameters !== null)
  return Object.fromEntries([...parameters].map(([name, bytes]) => [name, bytes.toString('latin1')]))
}

test('query: decoded once, from bytes (rule 4)', () => {
  const rows: Array<[raw: string, parameters: Record<string, string>]> = [
    ['', {}],
    ['&&', {}],
    ['song=a+b%2Bc', { song: 'a b+c' }],
    ['song=%2541', { song: '%41' }],
    ['song=%C3%bc\xfc', { song: '\xc3\xbc\xfc' }],
    ['song=100%', { song: '100%' }],
    ['song=100%4', { song: '100%4' }],
    ['song=%4&artist=1', { song: '%4', artist: '1' }],
    ['song=%zz%u00e9%%41', { song: '%zz%u00e9%A' }],
    ['song=a=b', { song: 'a=b' }],
    ['song', { song: '' }],
    ['song=', { song: '' }],
    ['=x', { '': 'x' }],
    ['song=#1 hit?', { song: '#1 hit?' }],
    ['song=a;b', { song: 'a;b' }],
    ['song=First&song=Last', { song: 'Last' }],
    ['song=a&Song=b&SONG=c', { song: 'a', Song: 'b', SONG: 'c' }],
    ['%73ong=a', { song: 'a' }],
    ['__proto__=a', Object.fromEntries([['__proto__', 'a']])],
    ['song=%00%0D%0A', { song: '\0\r\n' }],
  ]
  for (const [raw, parameters] of rows) assert.deepEqual(entries(raw), parameters, raw)
})

test('query: what was escaped comes back byte for byte', () => {
  const byte = fc.integer({ min: 0, max: 255 })
  const value = fc.array(byte).map(bytes => Buffer.from(bytes))
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), value), parameters => {
      const raw = Object.entries(parameters)
        .map(([name, bytes]) => `${name}=${[...bytes].map(escapeSome).join('')}`)
        .join('&')
      const parsed = parseQuery(raw)
      assert.deepEqual(new Map(parsed), new Map(Object.entries(parameters)))
    }),
  )
})

/** Escapes only what must be: the rest stands as a raw byte. */
function escapeSome(byte: number): string {
  if (byte === 0x20) return '+'
  return /[%&+]/.test(String.fromCharCode(byte)) || byte % 3 === 0
    ? `%${byte.toString(16).padStart(2, '0')}`
    : String.fromCharCode(byte)
}

test('query: any bytes are read without a throw', () => {
  const raw = fc.array(fc.constantFrom('%', '&', '=', '+', '4', 'f', 'g', '\xff', '\0')).map(c => c.join(''))
  fc.assert(fc.property(raw, raw => assert.ok(parseQuery(raw) !== null || raw.length > maxQueryParameters)))
})

test('query: read at the limit of parameters, refused one past it', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `p${n}=1`).join('&')
  assert.equal(parseQuery(many(maxQueryParameters))?.size, maxQueryParameters)
  assert.equal(parseQuery(many(maxQueryParameters + 1)), null)
})
