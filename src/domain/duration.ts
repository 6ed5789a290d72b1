// The length of an item in whole seconds (rule 6). 0 is unknown. Milliseconds are not guessed.

/** 2^31 - 1 seconds. */
export const maxDurationSeconds = 2_147_483_647

const decimal = /^(\d+)(?:[.,](\d*))?$/
const clock = /^(?:(\d+):)?(\d+):([0-5]\d)$/
const digits = /^\d+$/

/** Seconds of a GET's text: `225`, `225.97`, `225,97`, `3:45`, `01:02:03`, empty or `null` (0); null if it is none of these. */
export function readDurationText(text: string): number | null {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.toLowerCase() === 'null') return 0
  const plain = decimal.exec(trimmed)
  if (plain !== null) return inRange(Number(`${plain[1]}.${plain[2] || 0}`))
  const parts = clock.exec(trimmed)
  if (parts === null) return null
  const [, hours, minutes, seconds] = parts.map(part => Number(part ?? 0))
  if (hours === undefined || minutes === undefined || seconds === undefined) return null
  if (parts[1] !== undefined && minutes > 59) return null
  return inRange(hours * 3600 + minutes * 60 + seconds)
}

/** Seconds of a POST's value: an integer, a fraction (rounded), a digit string, `""` or null (0); null if it is none of these. */
export function readDurationValue(value: number | string | null): number | null {
  if (value === null) return 0
  if (typeof value === 'number') return inRange(value)
  const trimmed = value.trim()
  if (trimmed === '') return 0
  return digits.test(trimmed) ? inRange(Number(trimmed)) : null
}

function inRange(seconds: number): number | null {
  const rounded = Math.round(seconds)
  // `+ 0` makes the 0 of JSON's -0 an ordinary one.
  return seconds >= 0 && rounded <= maxDurationSeconds ? rounded + 0 : null
}
