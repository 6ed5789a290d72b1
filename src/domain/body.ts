// The body of a POST from bytes to one JSON object (spec 4.2, rule 9).
import { readCharset } from './encoding.ts'
import { depth } from './json.ts'
import { quote } from './text.ts'

/** How deep a body may be nested; the body itself counts 1. */
export const maxJsonDepth = 16

/** The text of a body and the object that it holds, or what is wrong with it. */
export type JsonBody =
  | { ok: true; text: string; value: Record<string, unknown>; warnings: string[] }
  | { ok: false; message: string }

/**
 * Reads a body. A BOM in front, white space and NULs behind are ignored; bytes that are not UTF-8 are read as
 * windows-1252, with a warning.
 *
 * @param charset that of the Content-Type, if it has one.
 */
export function decodeJsonBody(bytes: Buffer, charset?: string): JsonBody {
  const read = readCharset(bytes, charset)
  const warnings: string[] = []
  if (read.unknown) warnings.push(`body: the charset ${quote(charset ?? '')} is not known`)
  if (read.guessed) warnings.push('body: not valid UTF-8, read as windows-1252')
  const text = strip(read.text)
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {
      ok: false,
      message: value === undefined ? 'The body is not JSON.' : 'The body is not one object.',
    }
  }
  if (depth(text) > maxJsonDepth) {
    return { ok: false, message: `The body is nested deeper than ${maxJsonDepth}.` }
  }
  return { ok: true, text, value: value as Record<string, unknown>, warnings }
}

/** The JSON value, or undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Without the BOM in front and the NULs and white space behind. A loop, since a regex would take quadratic time. */
function strip(text: string): string {
  let end = text.length
  while (end > 0 && ignoredAtEnd.has(text[end - 1] ?? '')) end--
  return text.slice(text.startsWith('\ufeff') ? 1 : 0, end)
}

const ignoredAtEnd = new Set(['\0', ' ', '\t', '\n', '\r'])
