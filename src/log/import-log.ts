// An import: events of the past appended to a log that holds nothing else, each with its own time in a header.
//
// Every append names the sequence it expects, so a log that somebody else writes to refuses it, and nothing is ever
// doubled or out of order. Each event carries the import's id and its own number, so that an interrupted import finds
// out from the log itself how far it has come.
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import type { NowNextEvent } from '../domain/event.ts'
import { StartError } from '../observe/service.ts'
import { asLogError, failureOf, type LogConnection, LogUnavailable, messageOf } from './connection.ts'
import { readBatch, type Stored } from './direct.ts'
import { importHeader, timeHeader, wakeKey } from './event-log.ts'
import { streams } from './topology.ts'

export type ImportedEvent = {
  channelkey: string
  event: NowNextEvent
  /** Unix milliseconds, never decreasing. */
  timeMs: number
}

/** How many events one acknowledgement stands for, and how many of those may be waited for. */
const ackEvery = 256
const maxAcks = 4
const ackTimeoutMs = 10_000
const lookBack = 256
const endMark = 'end'
const wakeSubject = `event.${wakeKey}.tick`

export class ImportLog {
  readonly #connection: LogConnection
  readonly #id: string
  /** Sequence in EVENTS of the last event sent. */
  #sequence = 0
  /** How many events of this import were sent, and how many of them are acknowledged. */
  #sent = 0
  #stored = 0
  #acks: Array<Promise<void>> = []

  /** id: the same for the same file, and for no other. */
  constructor(connection: LogConnection, id: string) {
    this.#connection = connection
    this.#id = id
  }

  /**
   * Looks how far the import has come: resolves to the number of its events in the log, or to null where it is
   * finished. Throws a StartError where the log holds anything else; LogUnavailable.
   */
  async begin(): Promise<number | null> {
    try {
      const { state } = await this.#connection.jsm.streams.info(streams.events, {
        subjects_filter: wakeSubject,
      })
      this.#sequence = state.last_seq
      this.#acks = []
      const said = state.messages - (state.subjects?.[wakeSubject] ?? 0)
      const mark = await this.#lastMark(state.first_seq, state.last_seq)
      if (mark === endMark) return null
      this.#sent = mark === undefined ? 0 : Number(mark) + 1
      this.#stored = this.#sent
      if (this.#sent !== said) throw notEmpty(said)
      if (said === 0) await this.#requireNothingShown()
      return said
    } catch (error) {
      if (failureOf(error) === 'not found')
        throw new StartError('this NATS has no log of nownext yet: start the service on it first')
      throw asLogError(error)
    }
  }

  /** What the last event that is not only a projector's wake-up says of this import: its number, or that it is the end. */
  async #lastMark(first: number, last: number): Promise<string | undefined> {
    for (let end = last; end >= first && end > 0; end -= lookBack) {
      const seq = Math.max(1, end - lookBack + 1)
      const messages = await readBatch(this.#connection, streams.events, { seq, batch: end - seq + 1 })
      const found = messages.reverse().find(isSaid)
      if (found !== undefined) return this.#markOf(found)
    }
    return undefined
  }

  /** Throws where it is none of this import. */
  #markOf({ headers: head }: Stored): string {
    const [id, mark] = head.get(importHeader).split('.')
    if (id === this.#id && mark !== undefined) return mark
    throw new StartError(
      id === ''
        ? 'the log is not empty: an import needs a log into which nothing was pushed yet'
        : 'the log holds events of an import of another file, or of this one as it was before or with another --timezone',
    )
  }

  async #requireNothingShown(): Promise<void> {
    const { state } = await this.#connection.jsm.streams.info(streams.channel)
    if (state.messages > 0)
      throw new StartError('the bucket channel is not empty: it shows what another log has said')
  }

  /** Events known to be stored. */
  get stored(): number {
    return this.#stored
  }

  /** Sends the next event; waits while too much is not acknowledged. Throws LogUnavailable: then begin() says how far it came. */
  async append({ channelkey, event, timeMs }: ImportedEvent): Promise<void> {
    const head = headers()
    head.set(timeHeader, String(timeMs))
    head.set(importHeader, `${this.#id}.${this.#sent}`)
    const subject = `event.${channelkey}.${event.kind}`
    this.#sent++
    await this.#send(subject, JSON.stringify(event), head, this.#sent % ackEvery === 0)
  }

  /** Marks the end, from which on time runs again, and waits until all is stored. Throws LogUnavailable. */
  async finish(): Promise<void> {
    const head = headers()
    head.set(importHeader, `${this.#id}.${endMark}`)
    await this.#send(wakeSubject, JSON.stringify({ v: 1, kind: 'tick' }), head, true)
    await Promise.all(this.#acks).catch(throwLogError)
  }

  async #send(subject: string, payload: string, head: MsgHdrs, acked: boolean): Promise<void> {
    const { nc, js } = this.#connection
    const lastSequence = this.#sequence++
    if (!acked) {
      // Refused like any other where it does not follow the last one; then the next acknowledgement says so.
      head.set('Nats-Expected-Last-Sequence', String(lastSequence))
      nc.publish(subject, payload, { headers: head })
      return
    }
    const sent = this.#sent
    const ack = js
      .publish(subject, payload, { headers: head, expect: { lastSequence }, timeout: ackTimeoutMs })
      .then(() => {
        this.#stored = sent
      })
    this.#acks.push(ack)
    // One that fails while nobody waits for it is thrown by the next call.
    ack.catch(() => undefined)
    if (this.#acks.length >= maxAcks) await this.#acks.shift()?.catch(throwLogError)
  }
}

function throwLogError(error: unknown): never {
  if (failureOf(error) === 'wrong sequence')
    throw new LogUnavailable(`somebody else writes to the log (${messageOf(error)})`, { cause: error })
  throw asLogError(error)
}

/** Whether it is more than a projector's wake-up. */
function isSaid({ subject, headers: head }: Stored): boolean {
  return subject !== wakeSubject || head.has(importHeader)
}

function notEmpty(said: number): StartError {
  return new StartError(
    `the log is not empty: it holds ${said} events, not only those of this import; an import needs a log of its own`,
  )
}
