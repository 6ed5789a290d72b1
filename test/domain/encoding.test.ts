import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { findEncoding, readBytes, readCharset, readWindows } from '../../src/domain/encoding.ts'

test('encoding: names and aliases in any case (rule 4)', () => {
  for (const name of ['', 'utf8', 'UTF8', 'utf-8', 'Utf-8', ' utf8 '])
    assert.equal(findEncoding(name), 'utf8')
  for (const name of ['windows', 'WINDOWS', 'windows-1252', 'iso-8859-1', 'ISO-8859-1', 'Latin1']) {
    assert.equal(findEncoding(name), 'windows')
  }
  for (const name of ['utf16', 'ansi', '1252', '__proto__', 'constructor']) {
    assert.equal(findEncoding(name), null)
  }
})

test('encoding: strict UTF-8, else windows-1252; with windows nothing is guessed', () => {
  const latin = Buffer.from('Gr\xfc\xdfe', 'latin1')
  const utf8 = Buffer.from('Grüße')
  assert.deepEqual(readBytes(utf8), { text: 'Grüße', guessed: false })
  assert.deepEqual(readBytes(latin), { text: 'Grüße', guessed: true })
  assert.deepEqual(readBytes(latin, 'windows'), { text: 'Grüße', guessed: false })
  assert.deepEqual(readBytes(utf8, 'windows'), { text: 'GrÃ¼ÃŸe', guessed: false })
  // Overlong forms, surrogates and code points beyond Unicode are not UTF-8.
  for (const bytes of [[0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc3]]) {
    assert.equal(readBytes(Uint8Array.from(bytes)).guessed, true)
  }
})

test('encoding: each windows-1252 byte is one character; the 5 undefined ones give U+FFFD', () => {
  const text = readWindows(Uint8Array.from({ length: 256 }, (_, byte) => byte))
  assert.equal(text.length, 256)
  assert.equal(text[0x80], '€')
  assert.equal(text[0x92], '’')
  const undefinedBytes = [...text].flatMap((character, byte) => (character === '\ufffd' ? [byte] : []))
  assert.deepEqual(undefinedBytes, [0x81, 0x8d, 0x8f, 0x90, 0x9d])
})

test('encoding: any bytes give valid text', () => {
  const charset = fc.constantFrom('', 'utf-8', 'utf-16', 'utf-16le', 'utf-7', 'shift_jis', 'gb18030', 'hex')
  fc.assert(
    fc.property(fc.uint8Array(), charset, (bytes, charset) => {
      for (const text of [readBytes(bytes).text, readWindows(bytes), readCharset(bytes, charset).text]) {
        const encoded = Buffer.from(text, 'utf8')
        assert.ok(isUtf8(encoded))
        assert.equal(encoded.toString('utf8'), text)
      }
    }),
  )
})

test('encoding: the charset of a content type is honoured (rule 9)', () => {
  const rows: Array<[charset: string | undefined, bytes: Buffer, text: string, what: string]> = [
    [undefined, Buffer.from('ü'), 'ü', ''],
    ['UTF-8', Buffer.from('ü'), 'ü', ''],
    ['utf-8', Buffer.from([0xfc]), 'ü', 'guessed'],
    ['ISO-8859-1', Buffer.from([0xfc, 0x92]), 'ü’', ''],
    ['us-ascii', Buffer.from([0xfc]), 'ü', ''],
    ['iso-8859-15', Buffer.from([0xa4]), '€', ''],
    ['windows-1251', Buffer.from([0xc6]), 'Ж', ''],
    ['utf-16le', Buffer.from('Grüße', 'utf16le'), 'Grüße', ''],
    ['utf-16le', Buffer.from([0x00, 0xd8]), '\ufffd', ''],
    ['klingon', Buffer.from('ü'), 'ü', 'unknown'],
    ['klingon', Buffer.from([0xfc]), 'ü', 'unknown guessed'],
    ['base64', Buffer.from('ü'), 'ü', 'unknown'],
    ['base-64', Buffer.from('ü'), 'ü', 'unknown'],
    ['Base_64:2000', Buffer.from('ü'), 'ü', 'unknown'],
    ['h-ex', Buffer.from('ü'), 'ü', 'unknown'],
    ['bin.ary', Buffer.from('ü'), 'ü', 'unknown'],
    ['__proto__', Buffer.from('ü'), 'ü', 'unknown'],
  ]
  for (const [charset, bytes, text, what] of rows) {
    const read = readCharset(bytes, charset)
    assert.equal(read.text, text, charset)
    assert.equal(read.unknown, what.includes('unknown'), charset)
    assert.equal(read.guessed, what.includes('guessed'), charset)
  }
})
