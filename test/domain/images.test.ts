import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWebAddress, maxAddressCharacters, readImages } from '../../src/domain/images.ts'

test('images: http and https addresses only (rule 9)', () => {
  for (const text of ['http://a', 'https://a.example/b?c=d#e', 'HTTPS://A.EXAMPLE/', 'https://ä.example/ü']) {
    assert.equal(isWebAddress(text), true, text)
  }
  const others = [
    '',
    'a.jpg',
    '//a/b',
    'ftp://a/',
    'javascript:alert(1)',
    'data:image/png;base64,x',
    'http:a',
  ]
  for (const text of [...others, 'https://', 'http://a b/', ' https://a/']) {
    assert.equal(isWebAddress(text), false, text)
  }
})

test('images: an address is kept at the limit, dropped one past it', () => {
  const atLimit = `https://a.example/${'x'.repeat(maxAddressCharacters - 18)}`
  assert.equal(atLimit.length, maxAddressCharacters)
  assert.equal(isWebAddress(atLimit), true)
  assert.equal(isWebAddress(`${atLimit}x`), false)
})

test('images: sizes with an address are kept, others dropped', () => {
  const url = 'https://a/b.jpg'
  const rows: Array<[value: unknown, images: unknown, dropped: string[]]> = [
    [undefined, null, []],
    [null, null, []],
    ['', null, []],
    [{}, null, []],
    [[], null, ['images']],
    [5, null, ['images']],
    [url, null, ['images']],
    [{ small: { url } }, { small: { url } }, []],
    [{ small: { url: ` ${url}\0` } }, { small: { url } }, []],
    [{ large: { url, width: 5 }, medium: { url: '' }, small: null, huge: { url } }, { large: { url } }, []],
    [{ small: { url: 'javascript:1' }, medium: { url } }, { medium: { url } }, ['images.small']],
    [
      { small: url, medium: [url], large: { url: 5 } },
      null,
      ['images.small', 'images.medium', 'images.large'],
    ],
    [{ small: {}, medium: { url: null } }, null, []],
  ]
  for (const [value, images, dropped] of rows) {
    assert.deepEqual(readImages(value), { images, dropped }, JSON.stringify(value))
  }
})
