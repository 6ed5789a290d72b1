// The newest records of each channel and station, kept ready for clients that come back (rule 25). Only what this
// edge saw live is kept: then nothing lies between two records, and a hundred thousand quiet channels cost nothing.
import type { Place } from '../log/position.ts'
import type { Frame } from './channel-state.ts'

/** A record in the log of shown records. Places compare as numbers. */
export type PlacedFrame = Frame & { readonly place: number }

export type RecentLimits = {
  /** Records kept of one channel. */
  perChannel: number
  /** Records kept of one station. */
  perStation: number
  /** In all, the overhead included. */
  bytes: number
}

export const defaultRecentLimits: RecentLimits = {
  perChannel: 32,
  perStation: 1_000,
  bytes: 64 * 1024 * 1024,
}

/** What an entry takes beside its bytes, roughly. */
const entryBytes = 200

type Ring = { readonly name: string; readonly entries: Entry[]; droppedThrough: number }
type Entry = { readonly ring: Ring; readonly frame: PlacedFrame }

/** Sequence and slot as one number that orders as they do. */
export function placeOf({ sequence, slot }: Place): number {
  return sequence * 2 + slot
}

/** The place of the last record that a value of this sequence can have. */
export function endOf(sequence: number): number {
  return sequence * 2 + 1
}

export class Recent {
  readonly #limits: RecentLimits
  readonly #rings = new Map<string, Ring>()
  /** Every entry, the oldest first. */
  readonly #entries = new Set<Entry>()
  #bytes = 0
  #live = false
  /** Nothing up to this place is kept any more, of no ring. */
  #gone = 0
  #last = 0
  readonly #waiting = new Set<{ sequence: number; reached: () => void }>()

  constructor(limits: RecentLimits = defaultRecentLimits) {
    this.#limits = limits
  }

  /** Sequence of the last change that this edge has seen. */
  get last(): number {
    return this.#last
  }

  /** What is kept now, in bytes, roughly. */
  get bytes(): number {
    return this.#bytes
  }

  /** The snapshot is complete: what comes from now on comes without a gap. */
  start(): void {
    this.#live = true
    this.#gone = endOf(this.#last)
  }

  /** A change, in the order of the log, and the records that it sends. */
  add(sequence: number, frames: readonly Frame[]): void {
    this.#last = sequence
    if (this.#live) {
      for (const frame of frames) {
        const placed = { ...frame, place: placeOf({ sequence, slot: frame.type === 'now' ? 1 : 0 }) }
        this.#keep(nameOf('channel', frame.channelkey), placed, this.#limits.perChannel)
        this.#keep(nameOf('station', frame.stationkey), placed, this.#limits.perStation)
      }
      this.#trim()
    }
    for (const waiting of this.#waiting) if (waiting.sequence <= sequence) waiting.reached()
  }

  /** Every record of a channel or station behind a place, in order; undefined where some may not be kept. */
  after(scope: 'channel' | 'station', key: string, place: number): PlacedFrame[] | undefined {
    if (!this.#live || place < this.#gone) return undefined
    const ring = this.#rings.get(nameOf(scope, key))
    if (ring === undefined) return []
    if (place < ring.droppedThrough) return undefined
    let start = ring.entries.length
    while (start > 0 && (ring.entries[start - 1]?.frame.place ?? 0) > place) start--
    return ring.entries.slice(start).map(({ frame }) => frame)
  }

  /** Resolves to true when this edge has seen a sequence, or to false when it has not in time. */
  reach(sequence: number, timeoutMs: number): Promise<boolean> {
    if (sequence <= this.#last) return Promise.resolve(true)
    return new Promise(resolve => {
      const end = (isReached: boolean) => {
        clearTimeout(timer)
        this.#waiting.delete(waiting)
        resolve(isReached)
      }
      const waiting = { sequence, reached: () => end(true) }
      const timer = setTimeout(() => end(false), timeoutMs).unref()
      this.#waiting.add(waiting)
    })
  }

  #keep(name: string, frame: PlacedFrame, limit: number): void {
    const ring = this.#rings.get(name) ?? { name, entries: [], droppedThrough: 0 }
    this.#rings.set(name, ring)
    const entry = { ring, frame }
    ring.entries.push(entry)
    this.#entries.add(entry)
    this.#bytes += bytesOf(entry)
    if (ring.entries.length <= limit) return
    const oldest = ring.entries[0]
    if (oldest !== undefined) this.#drop(oldest)
    ring.droppedThrough = oldest?.frame.place ?? 0
  }

  /** Lets the oldest go until the rest is within the limit. */
  #trim(): void {
    // Nearly always so. The oldest stands behind all the places of those that have gone: not to be looked for each time.
    if (this.#bytes <= this.#limits.bytes) return
    for (const entry of this.#entries) {
      if (this.#bytes <= this.#limits.bytes) return
      this.#drop(entry)
      this.#gone = entry.frame.place
    }
  }

  /** The oldest of its ring. */
  #drop(entry: Entry): void {
    const { ring } = entry
    ring.entries.shift()
    this.#entries.delete(entry)
    this.#bytes -= bytesOf(entry)
    if (ring.entries.length === 0) this.#rings.delete(ring.name)
  }
}

function nameOf(scope: 'channel' | 'station', key: string): string {
  return `${scope}/${key}`
}

function bytesOf({ frame }: Entry): number {
  return frame.bytes.length + entryBytes
}
