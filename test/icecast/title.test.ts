import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import iconv from 'iconv-lite'
import { encodeTitle, titleOf } from '../../src/icecast/title.ts'

const title = (artist: string, song: string, separator = ' - ') => titleOf({ artist, song, separator })

test('titles', () => {
  assert.equal(title('Mira Holt', 'Paper Lanterns'), 'Mira Holt - Paper Lanterns')
  assert.equal(title('', 'Paper Lanterns'), 'Paper Lanterns')
  assert.equal(title('Mira Holt', ''), 'Mira Holt')
  assert.equal(title('', ''), '')
  assert.equal(title("Mara's", "Don't; 'x'"), "Mara's - Don't; 'x'")
  assert.equal(title('Ada', "End';StreamUrl='x"), "Ada - End' ;StreamUrl='x")
  assert.equal(title('A', "'';;';"), "A - '' ;;' ;")
  // The pair may come about where the parts meet.
  assert.equal(title("A'", 'B', ';'), "A' ;B")
})

test('no title holds the pair that ends a title', () => {
  const text = fc.string({ unit: fc.constantFrom("'", ';', ' ', 'a'), maxLength: 12 })
  fc.assert(fc.property(text, text, text, (a, b, c) => !title(a, b, c).includes("';")))
})

test('bytes of a query', () => {
  const table: Array<[text: string, charset: string, query: string]> = [
    ['A b+c&d=e', 'UTF-8', 'A%20b%2Bc%26d%3De'],
    ["~a.b_c-d'%", 'UTF-8', '~a.b_c-d%27%25'],
    ['ü’', 'UTF-8', '%C3%BC%E2%80%99'],
    ['ü’', 'none', '%C3%BC%E2%80%99'],
    ['ü’', 'ISO-8859-1', '%FC%3F'],
    ['ü’', 'windows-1252', '%FC%92'],
    ['Ж', 'koi8-r', '%F6'],
  ]
  for (const [text, charset, query] of table) assert.equal(encodeTitle(text, charset, 100), query)
})

test('a title is cut where a character ends', () => {
  const table: Array<[text: string, maxLength: number, query: string]> = [
    ['abc', 3, 'abc'],
    ['abcd', 3, 'abc'],
    ['üü', 12, '%C3%BC%C3%BC'],
    ['üü', 11, '%C3%BC'],
    ['aü', 6, 'a'],
    // One character in two code points, and one in five.
    ['xe\u0301', 8, 'xe%CC%81'],
    ['xe\u0301', 7, 'x'],
    ['x👩‍👩‍👧', 54, 'x'],
    ['abc', 0, ''],
  ]
  for (const [text, maxLength, query] of table) assert.equal(encodeTitle(text, 'UTF-8', maxLength), query)
})

test('whatever is sent fits, and is the beginning of the title', () => {
  const charset = fc.constantFrom('UTF-8', 'none', 'windows-1252')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), charset, fc.nat(60), (text, name, maxLength) => {
      const query = encodeTitle(text, name, maxLength)
      assert.ok(query.length <= maxLength)
      const bytes = Buffer.from(
        query.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      )
      const whole = iconv.encode(text, name === 'none' ? 'UTF-8' : name)
      assert.ok(whole.subarray(0, bytes.length).equals(bytes))
    }),
  )
})
