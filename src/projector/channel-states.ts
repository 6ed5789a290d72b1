// What the projector knows of every channel: the last value as text, decoded when its next event comes.
import { dueMs } from '../domain/now-next.ts'
import { type ChannelState, initialState } from '../domain/state.ts'
import { eventOfValue, readFolded } from '../domain/value.ts'
import type { ChannelValue } from '../log/channel-bucket.ts'

/** A channel's state and the sequence of its last value, 0 where there is none or a delete marker. */
export type Known = { state: ChannelState; sequence: number }

type Entry = Known | { json: string; sequence: number }

const unknown: Known = { state: initialState, sequence: 0 }

export class ChannelStates {
  readonly #entries = new Map<string, Entry>()
  #highest = 0
  #highestDone = true

  /** Takes a value as loaded. */
  load(value: ChannelValue): void {
    const { channelkey, sequence } = value
    if (value.json === null) {
      const state = { ...initialState, deletedRevision: value.revision }
      this.#entries.set(channelkey, { state, sequence: 0 })
      this.#note(value.event, true)
      return
    }
    this.#entries.set(channelkey, { json: value.json, sequence })
    const found = eventOfValue(value.json)
    if (found !== null) this.#note(found.event, found.done)
  }

  /** The highest event of EVENTS whose values are all there. One with a value missing is folded again, which yields the rest. */
  get folded(): number {
    return this.#highestDone ? this.#highest : this.#highest - 1
  }

  /** Throws on a value that can't be read. */
  get(channelkey: string): Known {
    const entry = this.#entries.get(channelkey)
    if (entry === undefined || 'state' in entry) return entry ?? unknown
    const known = { state: readFolded(entry.json).state, sequence: entry.sequence }
    this.#entries.set(channelkey, known)
    return known
  }

  set(channelkey: string, known: Known): void {
    this.#entries.set(channelkey, known)
  }

  /** When something of the channel is due, or null; the value stays text. Throws on a value that can't be read. */
  dueMs(channelkey: string): number | null {
    const entry = this.#entries.get(channelkey)
    if (entry === undefined) return null
    if ('state' in entry) return dueMs(entry.state)
    return isQuiet(entry.json) ? null : dueMs(readFolded(entry.json).state)
  }

  /** Sequence of the channel's last value, 0 where there is none or a delete marker. */
  sequence(channelkey: string): number {
    return this.#entries.get(channelkey)?.sequence ?? 0
  }

  keys(): Iterable<string> {
    return this.#entries.keys()
  }

  get size(): number {
    return this.#entries.size
  }

  #note(event: number, done: boolean): void {
    if (event < this.#highest) return
    this.#highest = event
    this.#highestDone = done
  }
}

/**
 * Whether nothing can be due: nothing held, no next, no fallback. Seen without decoding the value (0.15 ms each, with
 * 100,000 channels a quarter of a minute). The state stands last in a value, and inside it what a pusher sent is only
 * in strings, where a quote is escaped: so none of these texts can be a pusher's. false says nothing.
 */
export function isQuiet(json: string): boolean {
  const state = json.lastIndexOf('"state":{')
  return state >= 0 && quietTexts.every(text => json.indexOf(text, state) >= 0)
}

const quietTexts = ['"held":[]', '"next":null', '"fallback":null']
