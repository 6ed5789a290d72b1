// Content types (spec 2.3, rule 8). Any integer passes; the names of the table are accepted too.

/** Name → id, the table of spec 2.3. */
export const etypes = {
  unknown: 0,
  Jingles: 101,
  Promo: 102,
  Advertising: 103,
  News: 104,
  Article: 105,
  'Music 1': 1001,
  'Music 2': 1002,
  'Music 3': 1003,
  'Music 4': 1004,
  'Music 5': 1005,
  'Music 6': 1006,
  'Music 7': 1007,
  'Music 8': 1008,
} as const

const byName = new Map<string, number>(Object.entries(etypes).map(([name, id]) => [name.toLowerCase(), id]))
const integer = /^-?\d+$/

/** The id that a text names: an integer, a name in any case, or nothing (0); null if it is none of these. */
export function readEtype(text: string): number | null {
  const trimmed = text.trim()
  if (trimmed === '') return 0
  if (!integer.test(trimmed)) return byName.get(trimmed.toLowerCase()) ?? null
  const id = Number(trimmed)
  // An integer that JSON readers would round is no id.
  return Number.isSafeInteger(id) ? id + 0 : null
}
