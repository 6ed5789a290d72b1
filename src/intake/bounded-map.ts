// Memory of senders and channels must have an end: a map that forgets its least recently used entry.

export class BoundedMap<K, V> {
  readonly #map = new Map<K, V>()
  readonly #max: number
  readonly #evicted: () => void

  /** `evicted` is called for each entry that had to go. */
  constructor(max: number, evicted: () => void) {
    this.#max = max
    this.#evicted = evicted
  }

  get size(): number {
    return this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  /** Sets, and makes it the most recently used. */
  set(key: K, value: V): void {
    if (!this.#map.delete(key) && this.#map.size >= this.#max) this.#evict()
    this.#map.set(key, value)
  }

  #evict(): void {
    for (const oldest of this.#map.keys()) {
      this.#map.delete(oldest)
      this.#evicted()
      return
    }
  }
}
