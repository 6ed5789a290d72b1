// One change after the other.

/** Runs tasks in the order given, each after the one before has ended: a check and the write it is for stay together. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    // The one who asked hears of a failure; the next task starts all the same.
    this.#last = result.catch(() => undefined)
    return result
  }
}
