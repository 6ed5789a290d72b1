// What is shown now, as bytes ready to send. JSON is touched once per change, never per client.
import type { Tracktype } from '../domain/event.ts'
import { readShown, type ShownRecord } from '../domain/value.ts'
import type { Representation } from './headers.ts'
import type { Scope, Selection } from './route.ts'

/** What a poll of a channel or station asks for: JSON, or the text of one record. */
export type AskedFor = Selection | 'text of now' | 'text of next'

/** By what was asked for; null where that is nothing. */
export type Answers = Map<AskedFor, Representation | null>

/** One channel's state after one change; another change makes another one. */
export type ShownChannel = {
  readonly channelkey: string
  /** Sequence in KV_channel of the value that made it. */
  readonly sequence: number
  readonly now: ShownRecord | null
  /** Never the empty record: that is sent once and stands for null (rule 16). */
  readonly next: ShownRecord | null
  /** Answers already made from this state; null while nobody polls the channel. */
  answers: Answers | null
}

/**
 * The channels of which some record names this station. A record belongs to the station that
 * it names, not to the one that the registry names by now (rule 19: a change shows with the next push). That is a
 * pure function of the log, so that every edge gives the same answer, live or from a snapshot.
 */
export type ShownStation = {
  readonly stationkey: string
  readonly channels: Map<string, ShownChannel>
  /** Answers already made; dropped by a change of one of its channels. */
  answers: Answers | null
}

/** A record that goes to sockets. */
export type Frame = ShownRecord & { readonly channelkey: string; readonly type: Tracktype }

/** The channels of a station in ascending position. */
function channelsOf({ channels }: ShownStation): ShownChannel[] {
  return [...channels.values()].sort((a, b) => a.sequence - b.sequence)
}

/** The records of a channel that are asked for, `now` first (rule 21). */
export function recordsOf({ now, next }: ShownChannel, selection: Selection): ShownRecord[] {
  return [selection === 'next' ? null : now, selection === 'now' ? null : next].filter(r => r !== null)
}

export class ChannelStates {
  readonly #channels = new Map<string, ShownChannel>()
  readonly #stations = new Map<string, ShownStation>()

  get size(): number {
    return this.#channels.size
  }

  /** undefined: nothing was ever shown. */
  channel(channelkey: string): ShownChannel | undefined {
    return this.#channels.get(channelkey)
  }

  /** undefined: no record names it. */
  station(stationkey: string): ShownStation | undefined {
    return this.#stations.get(stationkey)
  }

  /**
   * Takes over a value of the bucket `channel`, of this sequence, and returns what goes to sockets, in order.
   * Throws on one that cannot be read; the last state then stays.
   */
  apply(channelkey: string, value: Buffer, sequence: number): Frame[] {
    const read = readShown(value)
    const now = this.#own(read.now)
    const next = this.#own(read.next)
    this.#put({ channelkey, sequence, now, next: read.nextIsEmpty ? null : next, answers: null })
    const frames: Frame[] = []
    for (const type of read.send) {
      const record = type === 'now' ? now : next
      if (record !== null) frames.push({ channelkey, type, ...record })
    }
    return frames
  }

  /** Forgets a channel. */
  remove(channelkey: string): void {
    const channel = this.#channels.get(channelkey)
    if (channel === undefined) return
    this.#channels.delete(channelkey)
    for (const stationkey of stationkeysOf(channel)) this.#leave(stationkey, channelkey)
  }

  /**
   * In the place of its last state, where there is one: what is deleted from a map and set again makes it grow, and be
   * made anew, with every change (ADR 0009).
   */
  #put(channel: ShownChannel): void {
    const { channelkey } = channel
    const before = this.#channels.get(channelkey)
    const stationkeys = stationkeysOf(channel)
    for (const stationkey of before === undefined ? [] : stationkeysOf(before))
      if (!stationkeys.includes(stationkey)) this.#leave(stationkey, channelkey)
    this.#channels.set(channelkey, channel)
    for (const stationkey of stationkeys) {
      const station = this.#stations.get(stationkey) ?? { stationkey, channels: new Map(), answers: null }
      station.channels.set(channelkey, channel)
      station.answers = null
      this.#stations.set(stationkey, station)
    }
  }

  /** No record of the channel names the station any more. */
  #leave(stationkey: string, channelkey: string): void {
    const station = this.#stations.get(stationkey)
    if (station === undefined) return
    station.channels.delete(channelkey)
    station.answers = null
    if (station.channels.size === 0) this.#stations.delete(stationkey)
  }

  /** With the one text of its stationkey, where there is one: what was read is a slice, and keeps the whole value alive. */
  #own(record: ShownRecord | null): ShownRecord | null {
    if (record === null) return null
    const { bytes, stationkey } = record
    return {
      bytes,
      stationkey: this.#stations.get(stationkey)?.stationkey ?? Buffer.from(stationkey).toString(),
    }
  }
}

/** The current state of a channel or station: `next` before `now`, for some clients take every message for the current track. */
export function snapshot(
  { scope, key, selection }: { scope: Scope; key: string; selection: Selection },
  states: ChannelStates,
): Uint8Array[] {
  const wanted = (channel: ShownChannel) => recordsOf(channel, selection).reverse()
  if (scope === 'channel') {
    const channel = states.channel(key)
    return channel === undefined ? [] : wanted(channel).map(record => record.bytes)
  }
  const station = states.station(key)
  return (station === undefined ? [] : channelsOf(station))
    .flatMap(wanted)
    .filter(record => record.stationkey === key)
    .map(record => record.bytes)
}

/** Usually one. */
function stationkeysOf({ now, next }: ShownChannel): string[] {
  const keys: string[] = []
  if (now !== null) keys.push(now.stationkey)
  if (next !== null && next.stationkey !== now?.stationkey) keys.push(next.stationkey)
  return keys
}
