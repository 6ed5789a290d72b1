// Clients that come back with the position of the last record they got (rule 25).
import { LogUnavailable } from '../log/connection.ts'
import { decodePosition, type Place } from '../log/position.ts'
import { TooManyReads } from '../log/read-budget.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { ChannelStates, ShownChannel } from './channel-state.ts'
import { endOf, type PlacedFrame, placeOf, type Recent } from './recent.ts'
import { positionOf } from './record-bytes.ts'
import type { ReplayReads } from './replay-reads.ts'

/** A position that a client asks to go on after; `place` null: one that cannot be of this log. */
export type Asked = { readonly text: string; readonly place: (Place & { incarnation: string }) | null }

export type ResumeOptions = {
  incarnation: string
  recent: Recent
  reads: Pick<ReplayReads, 'read'>
  states: ChannelStates
  metrics: Metrics
  log: Logger
}

/** Records that are replayed at most; further back is a gap. */
export const maxReplay = 1_000
/** How long an edge that is behind a position waits for it. */
export const maxBehindMs = 2_000
/** Memory may lose what a read has just reached, under a flood; then it is read on. */
const maxRounds = 4

/** What a position is to this edge. */
export type Standing = 'foreign' | 'ahead' | 'here'

/** Judges a position against the log that this edge reads, and how far it has read it. */
export function standingOf({ place }: Asked, incarnation: string, last: number): Standing {
  if (place === null || place.incarnation !== incarnation) return 'foreign'
  return place.sequence > last ? 'ahead' : 'here'
}

/** The records behind the position, all selections; null: a gap. */
export type Replay = readonly PlacedFrame[] | null

export class Resumes {
  readonly #options: ResumeOptions

  constructor(options: ResumeOptions) {
    this.#options = options
  }

  /**
   * Finds what a client has missed, at once where memory has it. What is found reaches up to this edge's last change
   * in the tick in which it is returned, or in which the promise resolves: go live right then. Never rejects.
   */
  find(scope: 'channel' | 'station', key: string, asked: Asked): Replay | Promise<Replay> {
    const { incarnation, recent } = this.#options
    const standing = standingOf(asked, incarnation, recent.last)
    const { place } = asked
    if (standing === 'foreign' || place === null) return this.#answer('gap', null)
    if (standing === 'ahead') return this.#wait(scope, key, place)
    return this.#findHere(scope, key, place)
  }

  #findHere(scope: 'channel' | 'station', key: string, place: Place): Replay | Promise<Replay> {
    const kept = this.#fromMemory(scope, key, placeOf(place))
    if (kept === undefined) return this.#fromLog(scope, key, place)
    return this.#answer('memory', kept)
  }

  async #wait(scope: 'channel' | 'station', key: string, place: Place): Promise<Replay> {
    if (!(await this.#options.recent.reach(place.sequence, maxBehindMs))) return this.#answer('gap', null)
    return await this.#findHere(scope, key, place)
  }

  async #fromLog(scope: 'channel' | 'station', key: string, place: Place): Promise<Replay> {
    try {
      return this.#answer('log', await this.#readOn(scope, key, place))
    } catch (error) {
      const { log, metrics } = this.#options
      if (error instanceof TooManyReads) metrics.edgeRejected.inc({ limit: 'replay-reads' })
      else if (error instanceof LogUnavailable) log.warn({ error: error.message }, 'edge: a resume got a gap')
      else log.error({ err: error }, 'edge: a resume failed and got a gap')
      return this.#answer('gap', null)
    }
  }

  /** Reads the log up to where memory begins. */
  async #readOn(scope: 'channel' | 'station', key: string, { sequence, slot }: Place): Promise<Replay> {
    const { recent, reads, states } = this.#options
    const replay: PlacedFrame[] = []
    let at = placeOf({ sequence, slot })
    for (let round = 0; round < maxRounds && replay.length <= maxReplay; round++) {
      // The value of the position itself may have a second record.
      const from = Math.ceil(at / 2)
      const shown = scope === 'channel' ? states.channel(key) : undefined
      const known = shown === undefined ? 0 : sequenceOf(shown)
      const read = await reads.read({ scope, key, from: Math.max(1, from), through: recent.last, known })
      if (read === null || read.first > from) return null
      const reached = endOf(read.through)
      replay.push(...read.frames.filter(({ place }) => place > at && place <= reached))
      at = Math.max(at, reached)
      const rest = this.#fromMemory(scope, key, at)
      if (rest !== undefined) return [...replay, ...rest]
    }
    return null
  }

  #fromMemory(scope: 'channel' | 'station', key: string, place: number): PlacedFrame[] | undefined {
    const { recent, states } = this.#options
    const kept = recent.after(scope, key, place)
    if (kept !== undefined || scope === 'station') return kept
    const shown = states.channel(key)
    return shown !== undefined && place >= endOf(sequenceOf(shown)) ? [] : undefined
  }

  #answer(from: 'memory' | 'log', replay: Replay): Replay
  #answer(from: 'gap', replay: null): null
  #answer(from: 'memory' | 'log' | 'gap', replay: Replay): Replay {
    const isGap = replay === null || replay.length > maxReplay
    this.#options.metrics.edgeResumes.inc({ from: isGap ? 'gap' : from })
    return isGap ? null : replay
  }
}

/** What a client is told that has missed more than can be replayed: from where, and up to where the state reaches that follows. */
export function gapMessage(from: string, state: readonly Uint8Array[]): Uint8Array {
  const newest = state.at(-1)
  const to = newest === undefined ? '' : positionOf(newest)
  return Buffer.from(JSON.stringify({ type: 'gap', from, to }))
}

/** The sequence of the channel's last value: each stamps both records anew. */
function sequenceOf({ now, next }: ShownChannel): number {
  const record = now ?? next
  return record === null
    ? Number.POSITIVE_INFINITY
    : (decodePosition(positionOf(record.bytes))?.sequence ?? 0)
}
