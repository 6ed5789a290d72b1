import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cleanText, cutText, maxTextCharacters, quote, wellFormed } from '../../src/domain/text.ts'

const anyText = fc.string({ unit: 'binary' })
const brokenText = fc.array(fc.integer({ min: 0, max: 0xffff })).map(units => String.fromCharCode(...units))

function isWellFormed(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text
}

test('text: control characters, line breaks, normal form (rule 5)', () => {
  const rows: Array<[pushed: string, clean: string]> = [
    ['plain', 'plain'],
    ['', ''],
    [' kept ', ' kept '],
    ['a\tb', 'a b'],
    ['a\nb', 'a b'],
    ['a\rb', 'a b'],
    ['a\r\nb', 'a b'],
    ['a\n\rb', 'a  b'],
    ['a\n\nb', 'a  b'],
    ['a\u2028b\u2029c', 'a b c'],
    ['\ufeffa\ufeffb', 'ab'],
    ['a\0b\0', 'ab'],
    ['a\u0001\u0008\u000b\u000c\u000e\u001fb', 'ab'],
    ['a\u007fb', 'ab'],
    ['a\u0080\u0085\u009fb', 'ab'],
    ['a\u00a0b', 'a\u00a0b'],
    ['Cafe\u0301', 'Café'],
    ['e\0\u0301', 'é'],
    ['a\ud800b', 'a\ufffdb'],
    ['\udc00\ud800', '\ufffd\ufffd'],
    ['😀', '😀'],
    ['Rook &amp; Fern', 'Rook &amp; Fern'],
    ['Title;Title', 'Title;Title'],
    ['SHOUT', 'SHOUT'],
    ['\u202eabc\u200b', '\u202eabc\u200b'],
  ]
  for (const [pushed, clean] of rows) assert.equal(cleanText(pushed), clean, JSON.stringify(pushed))
})

test('text: whatever comes in, valid and clean Unicode comes out, and cleaning again changes nothing', () => {
  fc.assert(
    fc.property(fc.oneof(anyText, brokenText), text => {
      const clean = cleanText(text)
      assert.ok(isWellFormed(clean))
      assert.doesNotMatch(clean, /[\u0000-\u001f\u007f-\u009f\ufeff\u2028\u2029]/)
      assert.equal(clean.normalize('NFC'), clean)
      assert.equal(cleanText(clean), clean)
    }),
  )
})

test('text: only lone surrogates are replaced', () => {
  fc.assert(fc.property(anyText, text => assert.equal(wellFormed(text), text)))
})

test('text: kept at the limit, cut one past it', () => {
  const atLimit = 'x'.repeat(maxTextCharacters)
  assert.equal(cutText(atLimit), atLimit)
  assert.equal(cutText(`${atLimit}y`), atLimit)
  const emoji = '😀'.repeat(maxTextCharacters)
  assert.equal(cutText(emoji), emoji)
  assert.equal(cutText(`${emoji}😀`), emoji)
})

test('text: a grapheme at the limit is left out whole', () => {
  const filled = 'x'.repeat(maxTextCharacters - 1)
  for (const grapheme of ['e\u0323\u0302\u0332', '👩‍👩‍👧', '🇩🇪', '👍🏽', 'ก็']) {
    assert.equal(cutText(`${filled}${grapheme} and more`), filled, grapheme)
  }
  assert.equal(cutText(`${filled}ab`), `${filled}a`)
})

test('text: a single grapheme longer than the limit is cut inside, never to nothing', () => {
  const cut = cutText(`a${'\u0301'.repeat(60_000)}`)
  assert.equal(cut.length, maxTextCharacters)
})

test('text: a cut never splits a surrogate pair or a grapheme', () => {
  const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' })
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 20 }), (text, max) => {
      const cut = cutText(text, max)
      assert.ok(text.startsWith(cut))
      assert.ok([...cut].length <= max)
      assert.ok(isWellFormed(cut))
      const ends = [...segmenter.segment(text)].map(({ index, segment }) => index + segment.length)
      const first = [...(ends.length > 0 ? text.slice(0, ends[0]) : '')].length
      assert.ok(cut === text || first > max || ends.includes(cut.length), JSON.stringify([text, cut]))
    }),
  )
})

test('text: a pushed text in a message is short and quoted', () => {
  assert.equal(quote('a"b'), '"a\\"b"')
  assert.equal(quote('x'.repeat(5000)).length, 42)
})
