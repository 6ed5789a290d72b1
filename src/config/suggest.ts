// "Did you mean": the known name that is nearest to a mistyped one.

/** A slip or a transposition; further away is another word. */
const maxDistance = 2

/** ` (did you mean X?)`, or nothing where no candidate is near. What all share in front, `prefix`, is not compared. */
export function didYouMean(given: string, candidates: Iterable<string>, prefix = ''): string {
  const word = given.startsWith(prefix) ? given.slice(prefix.length) : given
  let nearest = ''
  let least = maxDistance + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate.slice(prefix.length))
    if (distance >= least || distance >= word.length) continue
    least = distance
    nearest = candidate
  }
  return nearest === '' ? '' : ` (did you mean ${nearest}?)`
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
