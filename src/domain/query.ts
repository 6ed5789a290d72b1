// The query of a push, decoded once, from bytes (rule 4): what a text decoder would destroy is still there.

/** Parameters by name. Names are case-sensitive; of a repeated one the last counts. */
export type QueryParameters = Map<string, Buffer>

/** The most parameters that a query may have; no encoder comes near. */
export const maxQueryParameters = 256

const percent = 0x25
const plus = 0x2b
const blank = 0x20

/**
 * The parameters of a query, or null if there are more than `maxQueryParameters`.
 *
 * @param raw without the leading `?`, one character per byte (latin1); high bytes raw or escaped. A form body's
 *   bytes may be given in the same way. Takes time in proportion to its length.
 */
export function parseQuery(raw: string): QueryParameters | null {
  const parameters: QueryParameters = new Map()
  let count = 0
  for (let start = 0; start < raw.length; ) {
    const next = raw.indexOf('&', start)
    const end = next < 0 ? raw.length : next
    if (end > start) {
      if (++count > maxQueryParameters) return null
      const equals = raw.indexOf('=', start)
      const nameEnd = equals < 0 || equals > end ? end : equals
      parameters.set(readEscaped(raw, start, nameEnd).toString('latin1'), readEscaped(raw, nameEnd + 1, end))
    }
    start = end + 1
  }
  return parameters
}

/** The bytes of `raw` from `start` to `end`: `+` is a blank; an escape that is not two hex digits stays as text. */
function readEscaped(raw: string, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - start))
  let length = 0
  for (let at = start; at < end; at++) {
    const code = raw.charCodeAt(at)
    const escaped = code === percent && at + 2 < end ? hexByte(raw, at + 1) : -1
    if (escaped >= 0) at += 2
    bytes[length++] = escaped >= 0 ? escaped : code === plus ? blank : code
  }
  return bytes.subarray(0, length)
}

/** The byte that two hex digits name, or -1. */
function hexByte(raw: string, at: number): number {
  const high = hexDigit(raw.charCodeAt(at))
  const low = hexDigit(raw.charCodeAt(at + 1))
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1
}
