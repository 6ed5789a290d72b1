// The independent reader of both logs, and what it says of pushes and clients. It trusts nobody: EVENTS is folded anew
// here, the bucket is compared with that, and the clients' frames with the bucket.
import { AssertionError } from 'node:assert/strict'
import { type JsMsg, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { readValue } from '../../src/domain/value.ts'
import { decodePosition } from '../../src/log/position.ts'
import { checkValue, type Expected, Fold, readAll } from '../helpers/fold.ts'
import type { ClientEvent } from './clients-process.ts'

/** A record as it went to players: where it stands in the bucket, and the number of its push. */
export type Shown = { position: string; place: number; number: number }

/** What is found in a window, one fault. */
export type ClientFindings = {
  outOfOrder: number
  missing: number
  /** Gaps that an edge announced. */
  gaps: number
  reconnects: number
  /** Longest time from a reconnect until everything shown before it had come. */
  wholeMs: number
  strange: string[]
}

type Cursor = { next: number; openMs: number | undefined; closed: boolean; lastPlace: number }

export class Judge {
  readonly #nc: NatsConnection
  #fold: Fold | undefined
  #lastEvent = 0
  #lastValue = 0
  /** Number of a push → how often it stands in EVENTS. */
  readonly said = new Map<number, number>()
  /** What listeners must see, by channel. */
  readonly shown = new Map<string, Shown[]>()
  readonly #cursors = new Map<number, Cursor>()

  constructor(nc: NatsConnection) {
    this.#nc = nc
  }

  /** Reads on to the end of both logs. Resolves to where the bucket is not the fold of EVENTS: the first place, and how many. */
  async readOn(): Promise<string[]> {
    this.#fold ??= new Fold(await this.#incarnation())
    const said = await readAll(this.#nc, 'EVENTS', this.#lastEvent + 1)
    this.#lastEvent = said.at(-1)?.seq ?? this.#lastEvent
    for (const message of said) this.#noteSaid(message)
    const expected = this.#fold.more(said)
    const values = await this.#values(expected.length)
    const wrong = expected.flatMap((value, index) => {
      this.#noteShown(value)
      return complaintOf(() => checkValue(value, values[index]))
    })
    if (values.length > expected.length) wrong.push('there are values that no event explains')
    return wrong.length === 0 ? [] : [`channel is not the fold of EVENTS, ${wrong.length} times: ${wrong[0]}`]
  }

  /** Whether each client has got everything. */
  isWhole(clients: number, channelOf: (client: number) => string): boolean {
    for (let client = 0; client < clients; client++) {
      const shown = this.shown.get(channelOf(client))?.length ?? 0
      if (shown > (this.#cursors.get(client)?.next ?? 0)) return false
    }
    return true
  }

  /** Compares what came to clients with what was shown; to be called with everything in order, after readOn. */
  judgeClients(
    events: readonly ClientEvent[],
    channelOf: (client: number) => string,
    acknowledged: ReadonlyMap<number, number>,
  ): ClientFindings {
    const findings: ClientFindings = {
      outOfOrder: 0,
      missing: 0,
      gaps: 0,
      reconnects: 0,
      wholeMs: 0,
      strange: [],
    }
    for (const [client, what, ms, detail] of events) {
      const cursor = this.#cursor(client)
      const shown = this.shown.get(channelOf(client)) ?? []
      if (what === 'o') {
        if (cursor.closed) findings.reconnects++
        cursor.openMs = cursor.closed ? ms : undefined
      } else if (what === 'c') {
        cursor.closed = true
        cursor.openMs = undefined
      } else if (what === 'x') findings.strange.push(detail)
      else if (what === 'g') {
        findings.gaps++
        const place = placeOf(detail)
        const next = shown.findIndex(record => record.place > place)
        if (next >= 0 && next < cursor.next) findings.outOfOrder++
        findings.missing += Math.max(0, (next < 0 ? shown.length : next) - cursor.next)
        cursor.next = next < 0 ? shown.length : next
        cursor.lastPlace = place
      } else this.#judgeFrame(detail, ms, cursor, shown, acknowledged, findings)
    }
    return findings
  }

  #judgeFrame(
    position: string,
    ms: number,
    cursor: Cursor,
    shown: Shown[],
    acknowledged: ReadonlyMap<number, number>,
    findings: ClientFindings,
  ): void {
    // The state that follows a gap.
    if (placeOf(position) <= cursor.lastPlace) return
    const due = shown[cursor.next]
    if (due?.position !== position) {
      const at = shown.findIndex(record => record.position === position)
      if (at < cursor.next) {
        findings.outOfOrder++
        if (findings.strange.length < 5)
          findings.strange.push(`${position} (${at}) instead of ${due?.position} (${cursor.next})`)
        return
      }
      findings.missing += at - cursor.next
      cursor.next = at
    }
    cursor.next++
    const number = shown[cursor.next - 1]?.number ?? 0
    const saidMs = acknowledged.get(number) ?? Number.POSITIVE_INFINITY
    if (cursor.openMs !== undefined && saidMs < cursor.openMs)
      findings.wholeMs = Math.max(findings.wholeMs, ms - cursor.openMs)
  }

  #cursor(client: number): Cursor {
    const cursor = this.#cursors.get(client) ?? { next: 0, openMs: undefined, closed: false, lastPlace: 0 }
    this.#cursors.set(client, cursor)
    return cursor
  }

  #noteSaid(message: JsMsg): void {
    const { element } = message.json<{ element?: { id: string } }>()
    if (element === undefined) return
    const number = Number(element.id)
    this.said.set(number, (this.said.get(number) ?? 0) + 1)
  }

  #noteShown({ channelkey, json, sequence, operation }: Expected): void {
    this.#lastValue = sequence
    if (operation !== '') return
    const value = readValue(json)
    const list = this.shown.get(channelkey) ?? []
    this.shown.set(channelkey, list)
    for (const type of value.send) {
      const { position, id } = JSON.parse((type === 'now' ? value.nowJson : value.nextJson) ?? '{}')
      list.push({ position, place: placeOf(position), number: Number(id) })
    }
  }

  /** So many values behind those read before; waits until the projector has written them. */
  async #values(count: number): Promise<JsMsg[]> {
    for (const endMs = Date.now() + 30_000; ; ) {
      const values = await readAll(this.#nc, 'KV_channel', this.#lastValue + 1)
      if (values.length >= count || Date.now() > endMs) return values
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }

  async #incarnation(): Promise<string> {
    const { config } = await (await jetstreamManager(this.#nc)).streams.info('KV_channel')
    return config.metadata?.['nownext-incarnation'] ?? ''
  }
}

function complaintOf(check: () => void): string[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof AssertionError) return [error.message]
    throw error
  }
}

/** Of any client, from one record to the next. */
export function longestGapMs(events: readonly ClientEvent[]): number {
  const times = events.filter(([, what]) => what === 'f').map(([, , ms]) => ms)
  times.sort((a, b) => a - b)
  return times.reduce((longest, ms, index) => Math.max(longest, ms - (times[index - 1] ?? ms)), 0)
}

function placeOf(position: string): number {
  const place = decodePosition(position)
  return place === undefined ? 0 : place.sequence * 2 + place.slot
}
