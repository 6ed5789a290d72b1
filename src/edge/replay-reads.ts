// Reads of the log for clients that were away longer than the memory reaches (rule 25): one for all that come back to
// a channel or station at about the same time, and few at once.
import { setTimeout as sleep } from 'node:timers/promises'
import { readValue } from '../domain/value.ts'
import { type LogConnection, LogUnavailable } from '../log/connection.ts'
import { OwnConnection } from '../log/own-connection.ts'
import { ReadBudget, type ReadLimits } from '../log/read-budget.ts'
import { firstSequence, readChannelFrom, readRange, type ShownValue } from '../log/shown-log.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { type PlacedFrame, placeOf } from './recent.ts'

/** What a read found. `through`: nothing is missing up to this sequence. `first`: the log begins here. */
export type LogRead = { frames: PlacedFrame[]; through: number; first: number }

export type Wanted = {
  scope: 'channel' | 'station'
  key: string
  /** From this sequence on. */
  from: number
  /** Up to this one at least: what this edge has seen. */
  through: number
  /** Sequence of the channel's last value as far as this edge knows it. */
  known: number
}

export type ReplayLimits = ReadLimits & {
  /** Values of a channel that are read for a replay; each holds up to two records. */
  channelValues: number
  /** Bytes of the values that one replay holds. */
  bytes: number
  /** How far back a station's records are looked for among those of all channels. Sequences. */
  stationSpan: number
}

export const defaultReplayLimits: ReplayLimits = {
  reading: 8,
  waiting: 10_000,
  channelValues: 2_000,
  bytes: 16 * 1024 * 1024,
  stationSpan: 10_000,
}
/** A read goes at least so far back, so that it serves those who were away a little longer too. Sequences. */
const depth = 1_000
/** How long what was read serves those who come later. */
const keptMs = 2_000
/** How long a log that does not answer is asked again. */
const patienceMs = 10_000
const pauseMs = 250
/** How often one waits for a read that others began further back. */
const maxAttempts = 3

type Read = { readonly from: number; readonly found: Promise<LogRead | null> }

export class ReplayReads {
  readonly #connection: OwnConnection
  readonly #log: Logger
  readonly #metrics: Metrics
  readonly #limits: ReplayLimits
  readonly #budget: ReadBudget
  /** Under way, or just done, by channel or station. */
  readonly #reads = new Map<string, Set<Read>>()

  constructor(
    connection: LogConnection,
    { log, metrics, limits }: { log: Logger; metrics: Metrics; limits: Partial<ReplayLimits> },
  ) {
    this.#connection = new OwnConnection(connection, 'replay')
    this.#log = log
    this.#metrics = metrics
    this.#limits = { ...defaultReplayLimits, ...limits }
    this.#budget = new ReadBudget(this.#limits, metrics.edgeReplayReads)
  }

  /** null: too far back. Throws LogUnavailable when the log is not there for a while, TooManyReads at the limit. */
  async read(wanted: Wanted): Promise<LogRead | null> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const running = [...(this.#reads.get(nameOf(wanted)) ?? [])]
      const read = running.find(({ from }) => from <= wanted.from) ?? this.#start(wanted, attempt === 0)
      const found = await read.found
      // Where one that began further back was too far back, this one need not be.
      if (found !== null || read.from === wanted.from) return found
    }
    return null
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** isDeep: for others too. What was too much is tried again with only what is wanted. */
  #start(wanted: Wanted, isDeep: boolean): Read {
    const from = isDeep ? Math.max(1, Math.min(wanted.from, wanted.through - depth)) : wanted.from
    const name = nameOf(wanted)
    const reads = this.#reads.get(name) ?? new Set()
    const read: Read = { from, found: this.#patiently({ ...wanted, from }) }
    const forget = () => {
      reads.delete(read)
      if (reads.size === 0 && this.#reads.get(name) === reads) this.#reads.delete(name)
    }
    this.#reads.set(name, reads.add(read))
    read.found.then(found => (found === null ? forget() : setTimeout(forget, keptMs).unref()), forget)
    return read
  }

  /** A log that restarts is back in seconds, and then nobody has a gap. */
  #patiently(wanted: Wanted): Promise<LogRead | null> {
    const endMs = performance.now() + patienceMs
    return this.#budget.run(async beforeRead => {
      while (true) {
        try {
          await beforeRead()
          this.#metrics.edgeLogReads.inc()
          return await this.#readOnce(wanted)
        } catch (error) {
          if (!(error instanceof LogUnavailable) || performance.now() > endMs) throw error
          this.#log.debug({ err: error }, 'edge: a replay is read again')
          await sleep(pauseMs, undefined, { ref: false })
        }
      }
    })
  }

  async #readOnce({ scope, key, from, through, known }: Wanted): Promise<LogRead | null> {
    const { channelValues, stationSpan, bytes: mostBytes } = this.#limits
    if (scope === 'station' && through - from >= stationSpan) return null
    const connection = await this.#connection.get()
    const first = await firstSequence(connection)
    const values =
      scope === 'channel'
        ? await readChannelFrom(connection, key, {
            from,
            known: first > known ? 0 : known,
            most: channelValues,
            mostBytes,
          })
        : await readRange(connection, {
            from: Math.max(from, first),
            through,
            holding: `"stationkey":${JSON.stringify(key)}`,
            mostBytes,
          })
    if (values === null) return null
    const frames = values
      .flatMap(value => this.#framesOf(value))
      .filter(({ stationkey }) => scope === 'channel' || stationkey === key)
    return { frames, through, first: Math.max(first, await firstSequence(connection)) }
  }

  /** The records that a value sent, as the live ones; one that cannot be read sent none. */
  #framesOf({ channelkey, sequence, json }: ShownValue): PlacedFrame[] {
    try {
      const { send, nowJson, nextJson } = readValue(json)
      return send.flatMap(type => {
        const record = type === 'now' ? nowJson : nextJson
        if (record === null) return []
        const place = placeOf({ sequence, slot: type === 'now' ? 1 : 0 })
        const { stationkey } = JSON.parse(record)
        return [{ channelkey, type, place, stationkey, bytes: Buffer.from(record) }]
      })
    } catch (error) {
      this.#log.debug({ err: error, channelkey, sequence }, 'edge: a value cannot be replayed')
      return []
    }
  }
}

function nameOf({ scope, key }: Wanted): string {
  return `${scope}/${key}`
}
