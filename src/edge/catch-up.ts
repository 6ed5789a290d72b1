// A socket's or stream's way from its snapshot to the live records: written as it drains, so that a station of any size fits
// through, and subscribed in the tick in which the last of it is sent, so that nothing is missed or doubled (rule 24).
/** Where the records go: 1 when one went out, 0 when it waits in a buffer. */
export type Outlet = { send(record: Uint8Array, isBinary: boolean): 0 | 1 | 2 }

/** Told once, at the end. */
export type CatchUpEnd = {
  /** Everything is sent: subscribe now. */
  done(): void
  /** More live records wait than a socket may have waiting. */
  overrun(): void
}

export class CatchUp {
  readonly #outlet: Outlet
  /** What the client is owed for its connecting; not counted against the limit. */
  readonly #owed: readonly Uint8Array[]
  #owedSent = 0
  /** What came meanwhile, in order. */
  #live: Uint8Array[] = []
  #liveBytes = 0
  readonly #maxLiveBytes: number
  readonly #end: CatchUpEnd

  constructor(outlet: Outlet, owed: readonly Uint8Array[], maxLiveBytes: number, end: CatchUpEnd) {
    this.#outlet = outlet
    this.#owed = owed
    this.#maxLiveBytes = maxLiveBytes
    this.#end = end
  }

  /** A record that was published before this socket has subscribed. */
  addLive(bytes: Uint8Array): void {
    this.#live.push(bytes)
    this.#liveBytes += bytes.length
    if (this.#liveBytes > this.#maxLiveBytes) this.#end.overrun()
  }

  /**
   * Sends on while the socket takes it without buffering; to be called at open and when its buffer is empty again.
   * Returns whether that was everything.
   */
  pump(): boolean {
    while (true) {
      const bytes = this.#take()
      if (bytes === undefined) break
      if (this.#outlet.send(bytes, false) !== 1) return false
    }
    this.#end.done()
    return true
  }

  #take(): Uint8Array | undefined {
    const owed = this.#owed[this.#owedSent]
    if (owed !== undefined) {
      this.#owedSent++
      return owed
    }
    const live = this.#live.shift()
    this.#liveBytes -= live?.length ?? 0
    return live
  }
}
