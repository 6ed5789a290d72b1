import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  cleanText,
  cutText,
  maxMarksInARow,
  maxTextCharacters,
  quote,
  toNfc,
  wellFormed,
} from '../../src/domain/text.ts'

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

test('text: of too many combining marks in a row the first are kept', () => {
  const rows: Array<[pushed: string, clean: string]> = [
    [`x${'\u0323'.repeat(40)}y`, `x${'\u0323'.repeat(maxMarksInARow)}y`],
    [`x${'\u0323'.repeat(maxMarksInARow)}y`, `x${'\u0323'.repeat(maxMarksInARow)}y`],
    [`x${'\u0323\0'.repeat(40)}y`, `x${'\u0323'.repeat(maxMarksInARow)}y`],
    ['\u0323'.repeat(40), '\u0323'.repeat(maxMarksInARow)],
    [
      `q${'\u{1d165}'.repeat(40)}q${'\u0323'.repeat(40)}`,
      `q${'\u{1d165}'.repeat(32)}q${'\u0323'.repeat(32)}`,
    ],
    [`x${'\u0301'.repeat(20)}${'\u0323'.repeat(20)}`, `x${'\u0323'.repeat(12)}${'\u0301'.repeat(20)}`],
    // The letter's own two marks come into the run.
    [`\u01d6${'\u0323'.repeat(40)}`, `\u1ee5${'\u0323'.repeat(31)}\u0308`],
    // A mark that is two.
    [`q${'\u0344'.repeat(40)}`, `q${'\u0308\u0301'.repeat(maxMarksInARow / 2)}`],
  ]
  for (const [pushed, clean] of rows) {
    assert.equal(cleanText(pushed), clean, JSON.stringify(pushed))
    assert.equal(cleanText(clean), clean, JSON.stringify(clean))
  }
})

test('text: normalising never sees a long run of marks, however long the text', context => {
  const normalize = context.mock.method(String.prototype, 'normalize')
  const marks = '\u0301'.repeat(32_000) + '\u0323'.repeat(32_000)
  assert.equal(cleanText(marks), '\u0301'.repeat(maxMarksInARow))
  assert.equal(toNfc(`a${marks}`), `\u00e1${'\u0301'.repeat(maxMarksInARow - 1)}`)
  cleanText(`${'\u0301'.repeat(20)}${'\u0323'.repeat(20)} `.repeat(1600))
  assert.equal(normalize.mock.callCount(), 3)
  for (const { this: seen } of normalize.mock.calls) {
    assert.doesNotMatch(String(seen), new RegExp(`\\p{M}{${maxMarksInARow + 1}}`, 'u'))
  }
})

test('text: marks in any number and order come out clean, bounded, and the same when cleaned again', () => {
  const unit = fc.constantFrom(
    'a',
    '\u01d6',
    '\u1e69',
    ' ',
    '\u0301',
    '\u0323',
    '\u0344',
    '\u0f73',
    '\u{1d165}',
    '\u{1d160}',
  )
  const run = fc.tuple(unit, fc.integer({ min: 1, max: 40 })).map(([char, count]) => char.repeat(count))
  fc.assert(
    fc.property(
      fc.array(run, { maxLength: 8 }).map(runs => runs.join('')),
      text => {
        const clean = cleanText(text)
        assert.doesNotMatch(clean, new RegExp(`\\p{M}{${maxMarksInARow + 1}}`, 'u'))
        assert.equal(clean.normalize('NFC'), clean)
        assert.equal(cleanText(clean), clean)
      },
    ),
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
