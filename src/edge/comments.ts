// The comment line that every stream of server-sent events gets again and again (rule 26), each at its own time.

/** Rule 26. Milliseconds. */
export const commentMs = 15_000

export class Comments {
  readonly #everyMs: number
  /** By when each is due, the soonest first. */
  readonly #dueMs = new Map<{ comment(): void }, number>()
  readonly #timer: NodeJS.Timeout

  constructor(everyMs: number = commentMs) {
    this.#everyMs = everyMs
    this.#timer = setInterval(() => this.#sweep(), Math.min(1_000, everyMs / 2)).unref()
  }

  add(stream: { comment(): void }): void {
    this.#dueMs.set(stream, performance.now() + this.#everyMs)
  }

  remove(stream: { comment(): void }): void {
    this.#dueMs.delete(stream)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sweep(): void {
    const nowMs = performance.now()
    for (const [stream, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) return
      this.#dueMs.delete(stream)
      this.add(stream)
      stream.comment()
    }
  }
}
