// Keeps the embedded server's limit below what the disk takes, and gets it going again after the disk was full.
import type { Logger } from '../observe/log.ts'
import { isCriticalWrite, isLimitReached } from './log-line.ts'
import { fileStoreLimit, freeBytesAt, heldBytes, reservedBytes } from './space.ts'

export type SpaceWatchOptions = {
  storeDir: string
  log: Logger
  /** Restarts the server; it asks for the limit again by then. */
  restart: () => void
}

const checkIntervalMs = 15_000
/** A limit that would rise by less is not worth a restart. */
const leastGainBytes = 64 * 1024 * 1024

export class SpaceWatch {
  readonly #options: SpaceWatchOptions
  #limitBytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: SpaceWatchOptions) {
    this.#options = options
  }

  /** Bytes that the streams may take in all, from what the disk has free now. */
  takeLimit(): number {
    this.#limitBytes = this.#limitNow()
    return this.#limitBytes
  }

  /** To be told each line of the server's output. */
  heard(line: string): void {
    if (isCriticalWrite(line)) {
      // Its streams take nothing more until they are read again, whatever room there is by then.
      this.#restartOnce(() => this.#free() >= reservedBytes(this.#free()), 'the disk refused a write')
    } else if (isLimitReached(line)) {
      // It counts messages uncompressed, so the disk may have room left; or somebody else made some.
      this.#restartOnce(() => this.#limitNow() >= this.#limitBytes + leastGainBytes, 'the store is full')
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #restartOnce(hasRoom: () => boolean, reason: string): void {
    if (this.#timer !== undefined) return
    this.#options.log.error(`nats-server: ${reason}; it is restarted once there is room`)
    const check = () => {
      if (!hasRoom()) return
      this.stop()
      this.#options.restart()
    }
    this.#timer = setInterval(check, checkIntervalMs)
    check()
  }

  #free(): number {
    return freeBytesAt(this.#options.storeDir)
  }

  #limitNow(): number {
    return fileStoreLimit(heldBytes(this.#options.storeDir), this.#free())
  }
}
