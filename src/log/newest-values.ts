// The newest values of the channels whose history was asked for, kept up by the edge's watch: the last plays of a
// channel are what most ask for, and reading values that lie far apart is dear (one block of the log for each).
import type { HistoryValue } from '../domain/value.ts'

/** The limits of what is kept; a channel past them is read anew each time. */
export const newestLimits = { channels: 500, values: 64, bytes: 128 * 1024 }

/** One channel's values without a gap, the newest first. */
type Kept = {
  /** null while they are being read. */
  values: HistoryValue[] | null
  /** A change came while they were being read. */
  outdated: boolean
}

export class NewestValues {
  /** In order of use. */
  readonly #kept = new Map<string, Kept>()

  /** Empty: not known. */
  get(channelkey: string): readonly HistoryValue[] {
    const kept = this.#kept.get(channelkey)
    if (kept === undefined || kept.values === null) return []
    this.#kept.delete(channelkey)
    this.#kept.set(channelkey, kept)
    return kept.values
  }

  /**
   * The channel's newest values are about to be read, or more of them; the returned function takes what was read,
   * the newest first.
   */
  reading(channelkey: string): (values: HistoryValue[]) => void {
    const kept = this.#kept.get(channelkey) ?? { values: null, outdated: false }
    this.#kept.delete(channelkey)
    this.#kept.set(channelkey, kept)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= newestLimits.channels) break
      this.#kept.delete(oldest)
    }
    return values => {
      if (this.#kept.get(channelkey) !== kept) return
      if (kept.values !== null) kept.values = fitting([...kept.values, ...olderThan(kept.values, values)])
      else if (kept.outdated || values.length === 0) this.#kept.delete(channelkey)
      else kept.values = fitting(values)
    }
  }

  /** Whether changes of this channel are to be told. */
  follows(channelkey: string): boolean {
    return this.#kept.has(channelkey)
  }

  /** The channel has changed; null: what came cannot be followed. */
  changed(channelkey: string, value: HistoryValue | null): void {
    const kept = this.#kept.get(channelkey)
    if (kept === undefined) return
    if (kept.values === null) kept.outdated = true
    else if (value === null || value.prev !== kept.values[0]?.sequence) this.#kept.delete(channelkey)
    else kept.values = fitting([value, ...kept.values])
  }
}

/** Those of the values that go on where the known ones end. */
function olderThan(known: HistoryValue[], values: HistoryValue[]): HistoryValue[] {
  const start = values.findIndex(({ sequence }) => sequence === known.at(-1)?.prev)
  return start < 0 ? [] : values.slice(start)
}

function fitting(values: HistoryValue[]): HistoryValue[] {
  let bytes = 0
  const end = values.findIndex((value, index) => {
    bytes += bytesOf(value)
    return index >= newestLimits.values || bytes > newestLimits.bytes
  })
  return end < 0 ? values : values.slice(0, Math.max(1, end))
}

/** About what a value takes in memory. */
function bytesOf({ now, play, warnings }: HistoryValue): number {
  const late = play?.kind === 'late' ? play.record : null
  return [now, late].reduce((sum, record) => {
    if (record === null) return sum
    const { extdata, externalid, images } = record
    const rest = (extdata?.length ?? 0) + (externalid?.length ?? 0) + (images === null ? 0 : 1000)
    return sum + 1000 + rest
  }, 200 + warnings.join().length)
}
