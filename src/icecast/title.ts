// A title as the bytes of a request to Icecast (rule 31).
import iconv from 'iconv-lite'
import { noCharset } from '../domain/mount.ts'
import { type MetadataRecord, textOf } from '../domain/record.ts'

/**
 * What listeners are to read: artist, separator and song. Icecast escapes nothing, and a player takes the first `';`
 * for the end of the title and what follows for the next field: a blank breaks the pair.
 */
export function titleOf(record: Pick<MetadataRecord, 'artist' | 'song' | 'separator'>): string {
  return textOf(record).replaceAll("';", "' ;")
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/**
 * The title as the value of a query parameter of at most `maxLength` characters, cut where a grapheme ends. What the
 * charset lacks becomes `?`.
 */
export function encodeTitle(title: string, charset: string, maxLength: number): string {
  const encoding = charset === noCharset ? 'UTF-8' : charset
  const whole = escapeBytes(iconv.encode(title, encoding))
  if (whole.length <= maxLength) return whole
  let cut = ''
  for (const { segment } of graphemes.segment(title)) {
    const next = escapeBytes(iconv.encode(segment, encoding))
    if (cut.length + next.length > maxLength) break
    cut += next
  }
  return cut
}

const unreserved = /[A-Za-z0-9._~-]/

function escapeBytes(bytes: Uint8Array): string {
  let escaped = ''
  for (const byte of bytes) {
    const character = String.fromCharCode(byte)
    escaped += unreserved.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}
