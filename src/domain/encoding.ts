// Bytes to text (rules 4 and 9). Whatever the bytes, the text is valid Unicode.
import { isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { wellFormed } from './text.ts'

/** How the bytes of `song` and `artist` are read (spec 4.1). */
export type Encoding = 'utf8' | 'windows'

const encodings = new Map<string, Encoding>([
  ['', 'utf8'],
  ['utf8', 'utf8'],
  ['utf-8', 'utf8'],
  ['windows', 'windows'],
  ['windows-1252', 'windows'],
  ['iso-8859-1', 'windows'],
  ['latin1', 'windows'],
])

// Encodings of Node's Buffer that iconv-lite knows too; they are no character sets.
const bufferEncodings = new Set(['base64', 'hex', 'binary'])

/** A text, and whether the bytes were not in the encoding that they should have been in. */
export type ReadText = { text: string; guessed: boolean }

/** The encoding of this name (any case; empty is utf8), or null if the name is unknown. */
export function findEncoding(name: string): Encoding | null {
  return encodings.get(name.trim().toLowerCase()) ?? null
}

/**
 * The text of bytes in this encoding. Bytes that are not valid UTF-8 are read as windows-1252 (`guessed`): a wrong
 * umlaut setting must not silence a station. With `windows` nothing is guessed.
 */
export function readBytes(bytes: Uint8Array, encoding: Encoding = 'utf8'): ReadText {
  if (encoding === 'utf8' && isUtf8(bytes)) return { text: asBuffer(bytes).toString('utf8'), guessed: false }
  return { text: readWindows(bytes), guessed: encoding === 'utf8' }
}

/** The text of windows-1252 bytes, the superset of ISO 8859-1; its 5 undefined bytes become U+FFFD. */
export function readWindows(bytes: Uint8Array): string {
  return iconv.decode(bytes, 'windows-1252')
}

/**
 * The text of bytes in the charset of a Content-Type. An unknown or absent charset is UTF-8; `unknown` tells of the
 * former. ISO 8859-1 and ASCII are read as windows-1252, as everywhere on the web.
 */
export function readCharset(bytes: Uint8Array, charset = ''): ReadText & { unknown: boolean } {
  const name = charset.trim().toLowerCase()
  const encoding = name === 'us-ascii' ? 'windows' : findEncoding(name)
  if (encoding !== null) return { ...readBytes(bytes, encoding), unknown: false }
  if (!isCharset(name)) return { ...readBytes(bytes), unknown: true }
  return { text: wellFormed(iconv.decode(bytes, name)), guessed: false, unknown: false }
}

/** Whether this names a character set that is known here. iconv-lite overlooks all but letters and digits (`base-64`), and a year behind a colon. */
export function isCharset(name: string): boolean {
  const bare = name.toLowerCase().replace(/:\d{4}$|[^0-9a-z]/g, '')
  return !bufferEncodings.has(bare) && iconv.encodingExists(name)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
