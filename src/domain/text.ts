// What a text may hold (rule 5). A "character" of the limit is a code point: what most languages and people count,
// and the same whichever way the text was encoded.

/** The longest text that is kept; the rest is cut off with a warning. Code points. */
export const maxTextCharacters = 1024

/**
 * How many combining marks in a row are kept. Normalising sorts each run of them in quadratic time, so one field of
 * marks could take seconds. The Stream-Safe Text Format (UAX #15, section 13) takes 30 to be more than any writing
 * needs; here a little more.
 */
export const maxMarksInARow = 32

const plain = /^[\x20-\x7e]*$/
const loneSurrogate = /\p{Surrogate}/gu
const lineBreakOrTab = /\r\n|[\t\n\r\u2028\u2029]/g
const controlOrBom = /[\u0000-\u001f\u007f-\u009f\ufeff]/g

// Tried only where a run begins, so every mark is looked at once or twice.
const tooManyMarks = new RegExp(`(?<!\\p{M})(\\p{M}{${maxMarksInARow}})\\p{M}+`, 'gu')

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** The same text as valid Unicode: lone surrogates become U+FFFD, so no invalid UTF-8 is ever made of it. */
export function wellFormed(text: string): string {
  return text.replace(loneSurrogate, '\ufffd')
}

/** NFC in linear time, whatever the text: whoever normalises calls this. */
export function toNfc(text: string): string {
  // Again afterwards: taking a letter apart may have put its own marks into the run.
  return boundMarks(boundMarks(text).normalize('NFC'))
}

function boundMarks(text: string): string {
  return text.replace(tooManyMarks, '$1')
}

/**
 * Valid Unicode in NFC, without BOM, NUL and other control characters; a tab or line break (CR LF as one, U+2028
 * and U+2029 too) becomes one blank; of combining marks in a row `maxMarksInARow` are kept. Nothing else is touched:
 * no trimming, no entities, no capitals. It is not cut here: a text may begin with any number of blanks.
 */
export function cleanText(text: string): string {
  if (plain.test(text)) return text
  return toNfc(wellFormed(text).replace(lineBreakOrTab, ' ').replace(controlOrBom, ''))
}

/** At most `max` characters (code points) of a valid text, cut where a grapheme ends; shorter ones come back as they are. */
export function cutText(text: string, max: number = maxTextCharacters): string {
  if (text.length <= max) return text
  const end = indexAfter(text, max)
  if (end === text.length) return text
  // Whether a grapheme ends here depends on what comes before and on one character after.
  const upToNext = text.slice(0, end + 2)
  const start = graphemes.segment(upToNext).containing(end)?.index ?? end
  // A single grapheme longer than the limit can only be cut inside.
  return text.slice(0, start > 0 ? start : end)
}

/** The index in UTF-16 code units after the first `count` code points. */
function indexAfter(text: string, count: number): number {
  let at = 0
  for (let seen = 0; seen < count && at < text.length; seen++) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return at
}

/** A pushed text as it may stand in a message: short, in quotes. */
export function quote(text: string): string {
  return JSON.stringify(cutText(cleanText(text), 40))
}
