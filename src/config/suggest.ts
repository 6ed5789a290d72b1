// "Did you mean": the known name that is nearest to a mistyped one.

/** ` (did you mean X?)`, or nothing where no candidate is near: at most a third of its letters wrong. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  let nearest = ''
  let least = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const distance = editDistance(given, candidate)
    if (distance < least) {
      least = distance
      nearest = candidate
    }
  }
  return least <= Math.max(2, Math.floor(nearest.length / 3)) ? ` (did you mean ${nearest}?)` : ''
}

/** Levenshtein's distance: insertions, deletions and substitutions of one character. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(substituted, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
