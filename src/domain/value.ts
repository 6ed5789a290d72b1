// The values of the bucket `channel`: what was shown. One value, so now and next can never disagree.
import { members } from './json.ts'
import { decodeRecord, encodeRecord, endOfRecord, isEmptyNext, type MetadataRecord } from './record.ts'
import type { Change, ChannelState, PendingNext, Play, PlayEntry } from './state.ts'

export const valueVersion = 1

/** Where a value stands in the two logs. */
export type ValuePlace = {
  /** Sequence in EVENTS of the event that made it. */
  event: number
  /** false on all but the last value of one event. */
  done: boolean
  /** Sequence of this channel's previous value, 0 for the first. */
  prev: number
}

export type Positions = { now: string; next: string }

/** The JSON of a value. Both records are stamped with the positions of this value, also the one that is not sent. */
export function encodeValue(change: Change, place: ValuePlace, positions: Positions): string {
  const raw = (record: MetadataRecord | null, position: string) =>
    record === null ? 'null' : encodeRecord(record, position)
  const { play } = change
  const latePlay = play?.kind === 'late' ? `,"record":${encodeRecord(play.record, '')}` : ''
  const playJson =
    play === null
      ? 'null'
      : `{"kind":"${play.kind}"${play.kind === 'late' ? `,"reason":"${play.reason}"` : ''}${latePlay}}`
  return (
    `{"v":${valueVersion},"event":${place.event},"done":${place.done},"prev":${place.prev}` +
    `,"now":${raw(change.now, positions.now)},"next":${raw(change.next, positions.next)}` +
    `,"send":${JSON.stringify(change.send)},"play":${playJson}` +
    `,"warnings":${JSON.stringify(change.warnings)},"state":${encodeState(change.state)}}`
  )
}

/** How every value begins, whatever its version; reading no more than that keeps the start with 100,000 channels short. */
const beginning = /^\{"v":\d+,"event":(\d+),"done":(true|false),/

/** The event that made a value, from its first characters; null where they are not those of a value. */
export function eventOfValue(json: string): { event: number; done: boolean } | null {
  const found = beginning.exec(json)
  return found && { event: Number(found[1]), done: found[2] === 'true' }
}

/** A value as read back. `nowJson` and `nextJson` are the very bytes that go to players. */
export type StoredValue = ValuePlace & {
  send: Array<'next' | 'now'>
  /** JSON of the current record, or null. */
  nowJson: string | null
  /** JSON of the following record, or null; the empty record only in the value that sends it. */
  nextJson: string | null
  /** Whether `nextJson` stands for "none" (rule 16). */
  nextIsEmpty: boolean
}

/** What an edge needs of a value: no record is decoded. Throws on an unknown version. */
export function readValue(json: string): StoredValue {
  const raw = quickMembers(json) ?? members(json, 'send')
  requireVersion(raw.get('v'))
  const nextJson = rawOrNull(raw.get('next'))
  return {
    event: Number(raw.get('event')),
    done: raw.get('done') === 'true',
    prev: Number(raw.get('prev')),
    send: JSON.parse(raw.get('send') ?? '[]'),
    nowJson: rawOrNull(raw.get('now')),
    nextJson,
    nextIsEmpty: nextJson?.includes('"song":""') === true && isEmptyNext(JSON.parse(nextJson)),
  }
}

const untilNow = /^\{"v":(1),"event":(\d+),"done":(true|false),"prev":(\d+),"now":/
const untilNext = ',"next":'
const untilSend = ',"send":'

/**
 * The same as members(json, 'send') of a value from encodeValue, without looking at each character: an edge with
 * 100,000 channels reads as many at its start. null where its records are not of the usual form.
 */
function quickMembers(json: string): Map<string, string> | null {
  const [head, v, event, done, prev] = untilNow.exec(json) ?? []
  if (head === undefined) return null
  const nowEnd = endOfRecord(json, head.length)
  if (nowEnd < 0 || !json.startsWith(untilNext, nowEnd)) return null
  const next = nowEnd + untilNext.length
  const nextEnd = endOfRecord(json, next)
  if (nextEnd < 0 || !json.startsWith(untilSend, nextEnd)) return null
  const send = nextEnd + untilSend.length
  return new Map([
    ['v', v],
    ['event', event],
    ['done', done],
    ['prev', prev],
    ['now', json.slice(head.length, nowEnd)],
    ['next', json.slice(next, nextEnd)],
    ['send', json.slice(send, json.indexOf(']', send) + 1)],
  ] as [string, string][])
}

/** A value with the reducer's state, for the projector. Throws on an unknown version. */
export type FoldedValue = ValuePlace & { state: ChannelState }

export function readFolded(json: string): FoldedValue {
  const value = readValue(json)
  return {
    event: value.event,
    done: value.done,
    prev: value.prev,
    state: decodeState(members(json).get('state') ?? 'null', value),
  }
}

/** What the history needs of a value. */
export type HistoryValue = {
  /** Sequence in KV_channel. */
  sequence: number
  /** Sequence of this channel's previous value, 0 for the first. */
  prev: number
  /** Tells the lives of a key apart: a channel that was deleted and made again has a higher one. */
  life: number
  play: PlayEntry | null
  /** The current record after this change. */
  now: MetadataRecord | null
  /** What was repaired or ignored of the push. */
  warnings: string[]
}

/** Throws on an unknown version, and on anything that is no value. */
export function readHistoryValue(sequence: number, json: string): HistoryValue {
  const { v, prev, now, play, state, warnings } = JSON.parse(json)
  requireVersion(String(v))
  const raw = hasRawParts(now) || play?.kind === 'late' ? members(json) : undefined
  return {
    sequence,
    prev,
    life: state.deletedRevision,
    play: play?.kind === 'late' ? { ...play, record: recordOf(play.record, lateRecord(raw)) } : play,
    now: recordOf(now, raw?.get('now')),
    warnings,
  }
}

function lateRecord(raw: Map<string, string> | undefined): string | undefined {
  return members(raw?.get('play') ?? '{}').get('record')
}

function hasRawParts(record: { externalid: unknown; extdata: unknown } | null): boolean {
  return record !== null && (record.externalid !== null || record.extdata !== null)
}

/** The record as parsed; from its source text where some of it must keep its bytes. */
function recordOf<T extends { position: string } & MetadataRecord>(
  parsed: T | null,
  source: string | undefined,
): MetadataRecord | null {
  if (parsed === null) return null
  if (source !== undefined && hasRawParts(parsed)) return decodeRecord(source)
  const { position: _, ...record } = parsed
  return record
}

/** The state without the records that stand in the value anyway. */
function encodeState(state: ChannelState): string {
  const { now, next, ...rest } = state
  return JSON.stringify({
    ...rest,
    now: now && { ...now, record: undefined },
    next: next && (state.context?.announceNext ? { ...next, record: undefined } : next),
  })
}

function decodeState(json: string, value: StoredValue): ChannelState {
  const { now, next, ...rest } = JSON.parse(json)
  return {
    ...rest,
    now: withRecord<Play>(now, value.nowJson),
    next: withRecord<PendingNext>(next, value.nextJson),
  }
}

function withRecord<T extends Play>(play: T | null, json: string | null): T | null {
  if (play === null) return null
  if (play.record !== undefined) return play
  if (json === null) throw new Error('a value names a play but lacks its record')
  return { ...play, record: decodeRecord(json) }
}

function rawOrNull(text: string | undefined): string | null {
  return text === undefined || text === 'null' ? null : text
}

function requireVersion(version: string | undefined): void {
  if (!/^\d+$/.test(version ?? '')) throw new Error('not a value: it has no version')
  if (version !== String(valueVersion)) throw new UnknownVersion(`value of version ${version}`)
}

/** Data of a later release; it is skipped and counted, and the last good state stays. */
export class UnknownVersion extends Error {
  override name = 'UnknownVersion'
}
