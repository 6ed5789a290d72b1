// Which channel is due next.

export type Due = { channelkey: string; dueMs: number }

/** How many outdated entries are never worth a clean-up. */
const slack = 64

/** A heap of one due time per channel. One that was moved or removed stays inside until it comes up. */
export class DueHeap<T extends Due> {
  readonly #heap: T[] = []
  readonly #current = new Map<string, T>()

  /** How many channels are due some time. */
  get size(): number {
    return this.#current.size
  }

  get(channelkey: string): T | undefined {
    return this.#current.get(channelkey)
  }

  /** Sets or moves a channel's due time. */
  set(due: T): void {
    this.#current.set(due.channelkey, due)
    if (this.#heap.length > 2 * this.#current.size + slack) this.#compact()
    else {
      this.#heap.push(due)
      this.#up(this.#heap.length - 1)
    }
  }

  delete(channelkey: string): void {
    this.#current.delete(channelkey)
  }

  /** The one due first, or undefined. */
  peek(): T | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#current.get(first.channelkey) === first) return first
      this.#removeFirst()
    }
    return undefined
  }

  /** Leaves out what was moved or removed. An ordered list is a heap. */
  #compact(): void {
    this.#heap.length = 0
    for (const due of this.#current.values()) this.#heap.push(due)
    this.#heap.sort((a, b) => a.dueMs - b.dueMs)
  }

  #removeFirst(): void {
    const last = this.#heap.pop()
    if (last === undefined || this.#heap.length === 0) return
    this.#heap[0] = last
    this.#down()
  }

  #up(start: number): void {
    for (let at = start; at > 0; ) {
      const parent = (at - 1) >> 1
      if (this.#at(parent) <= this.#at(at)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #down(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left
      if (this.#at(child) >= this.#at(at)) return
      this.#swap(at, child)
      at = child
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.dueMs ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const first = this.#heap[a]
    const second = this.#heap[b]
    if (first === undefined || second === undefined) return
    this.#heap[a] = second
    this.#heap[b] = first
  }
}
