// Keeps the newest title in the stream of one mount, whatever happens to the server or its source (rule 31).
import { MountError } from './answer.ts'

/** What a sender needs of its mount. */
export type TitleTarget = {
  update(title: string): Promise<void>
  sourceStart(): Promise<string | undefined>
  stop(): void
}

/** What is told of a mount. */
export type SenderListener = {
  taken(title: string): void
  /** Each failure; the next attempt follows by itself. */
  failed(reason: string): void
  /** The source is another one than when the title was given, so it is given again. */
  sourceChanged(): void
}

export type Pace = {
  /** How often an idle mount is asked since when its source is there. */
  lookMs: number
  firstRetryMs: number
  lastRetryMs: number
  /** 0 up to 1. */
  random(): number
}

/** A source that comes back is noticed after `lookMs`, or after `lastRetryMs` if the server was asked in between. */
export const defaultPace: Pace = {
  lookMs: 10_000,
  firstRetryMs: 1_000,
  lastRetryMs: 15_000,
  random: Math.random,
}

/** Pause before the attempt after so many failures in a row: doubling, and spread so that many mounts of one server don't come at once. */
export function retryPauseMs(failures: number, pace: Pace): number {
  const fullMs = Math.min(pace.firstRetryMs * 2 ** (failures - 1), pace.lastRetryMs)
  return fullMs * (0.5 + pace.random() / 2)
}

export class MountSender {
  readonly #target: TitleTarget
  readonly #listener: SenderListener
  readonly #pace: Pace
  #title: string | undefined
  /** Whether the title is still to be given. */
  #due = false
  /** The source that the title was given to, as far as it is known. */
  #source: string | undefined
  #nextLookAtMs = 0
  #failures = 0
  #stopped = false
  #busy = false
  #timer: NodeJS.Timeout | undefined

  constructor(target: TitleTarget, listener: SenderListener, pace: Pace) {
    this.#target = target
    this.#listener = listener
    this.#pace = pace
  }

  /** The title from now on. One that was not sent yet is forgotten; while the mount fails, it waits for the next attempt. */
  show(title: string): void {
    this.#title = title
    this.#due = true
    if (this.#failures === 0) this.#wake()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#target.stop()
  }

  #wake(): void {
    if (this.#busy || this.#stopped) return
    clearTimeout(this.#timer)
    this.#busy = true
    void this.#turn().then(pauseMs => {
      this.#busy = false
      if (this.#stopped) return
      this.#timer = setTimeout(() => this.#wake(), this.#due && this.#failures === 0 ? 0 : pauseMs)
    })
  }

  /** One attempt at all there is to do; resolves to the pause after it. */
  async #turn(): Promise<number> {
    try {
      if (performance.now() >= this.#nextLookAtMs) await this.#look()
      if (this.#due) await this.#give()
      this.#failures = 0
      return Math.max(0, this.#nextLookAtMs - performance.now())
    } catch (error) {
      this.#failures++
      // Whatever failed, the server or the source may be another one when it works again.
      this.#due = true
      this.#source = undefined
      this.#nextLookAtMs = 0
      if (!this.#stopped) this.#listener.failed(error instanceof MountError ? error.message : String(error))
      return retryPauseMs(this.#failures, this.#pace)
    }
  }

  /** Before the title is given: a source that changes between the two only gets it twice. */
  async #look(): Promise<void> {
    const source = await this.#target.sourceStart()
    this.#nextLookAtMs = performance.now() + this.#pace.lookMs
    if (source !== undefined && this.#source !== undefined && source !== this.#source) {
      this.#due = true
      this.#listener.sourceChanged()
    }
    this.#source = source
  }

  async #give(): Promise<void> {
    const title = this.#title ?? ''
    this.#due = false
    await this.#target.update(title)
    if (!this.#stopped) this.#listener.taken(title)
  }
}
