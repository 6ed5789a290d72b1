// JSON that must keep its bytes: `extdata` passes untouched, with numbers beyond 2^53 and keys in the sender's
// order (rule 9), so its source text is carried instead of a parsed value.

/**
 * The source texts of the members of a JSON object, by name; of a repeated name the last, as JSON.parse has it.
 * The text must be a JSON object; one that is cut off throws a SyntaxError. What stands behind the member `last` is not
 * looked at.
 */
export function members(text: string, last?: string): Map<string, string> {
  const found = new Map<string, string>()
  let at = text.indexOf('{') + 1
  for (;;) {
    const nameStart = text.indexOf('"', at)
    if (nameStart < 0) return found
    const nameEnd = endOfString(text, nameStart)
    const valueStart = text.indexOf(':', nameEnd) + 1
    const valueEnd = endOfValue(text, valueStart)
    const name: string = JSON.parse(text.slice(nameStart, nameEnd))
    found.set(name, text.slice(valueStart, valueEnd).trim())
    at = valueEnd + 1
    if (text[valueEnd] === '}' || name === last) return found
  }
}

/** The same JSON without white space between its tokens, so that it fits on one line. */
export function compact(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
}

/** How deep arrays and objects are nested; 0 for a scalar. The text must be valid JSON. */
export function depth(text: string): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === quote) at = endOfString(text, at) - 1
    else if (c === openBrace || c === openBracket) deepest = Math.max(deepest, ++depth)
    else if (c === closeBrace || c === closeBracket) depth--
  }
  return deepest
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const comma = 0x2c

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === quote) return at + 1
    if (c === backslash) at++
  }
  throw new SyntaxError('JSON ends within a string')
}

/** The index of the comma, brace or bracket that ends the value which begins at `start`. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === quote) at = endOfString(text, at) - 1
    else if (c === openBrace || c === openBracket) depth++
    else if (depth === 0 && (c === comma || c === closeBrace || c === closeBracket)) return at
    else if (c === closeBrace || c === closeBracket) depth--
  }
  throw new SyntaxError('JSON ends within a value')
}
