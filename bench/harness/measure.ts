// A against B in the same minutes: turn about, so that what else the machine does falls on both.

export type Compared<A, B = A> = { a: A[]; b: B[] }

/** Rounds of A and B; the second goes first in every other one. */
export async function alternate<A, B>(
  rounds: number,
  a: () => Promise<A>,
  b: () => Promise<B>,
): Promise<Compared<A, B>> {
  const taken: Compared<A, B> = { a: [], b: [] }
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) taken.a.push(await a())
    taken.b.push(await b())
    if (round % 2 === 1) taken.a.push(await a())
  }
  return taken
}

export function median(list: readonly number[]): number {
  const sorted = [...list].sort((x, y) => x - y)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

export function medianOf<T>(list: readonly T[], of: (item: T) => number): number {
  return median(list.map(of))
}
