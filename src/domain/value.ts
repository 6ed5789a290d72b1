// The values of the bucket `channel`: what was shown. One value, so now and next can never disagree.
import { members } from './json.ts'
import {
  decodeRecord,
  encodeRecord,
  endOfRecord,
  isEmptyNext,
  type MetadataRecord,
  stationkeyOf,
} from './record.ts'
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

/** No record is decoded. Throws on an unknown version. */
export function readValue(json: string): StoredValue {
  const { v, event, done, prev, now, next, send } = partsOf(json)
  requireVersion(v)
  const nextJson = rawOrNull(next)
  return {
    event: Number(event),
    done: done === 'true',
    prev: Number(prev),
    send: sendOf(send),
    nowJson: rawOrNull(now),
    nextJson,
    nextIsEmpty: nextJson !== null && isEmptyNextJson(nextJson),
  }
}

/** What an edge keeps of a value: the bytes that go to players. */
export type ShownValue = {
  send: StoredValue['send']
  now: ShownRecord | null
  next: ShownRecord | null
  nextIsEmpty: boolean
}

/** A record as it goes to players. */
export type ShownRecord = { readonly bytes: Uint8Array; readonly stationkey: string }

/**
 * What an edge needs of a value's bytes; no more of them is kept than the two records. An edge that starts reads as many
 * values as there are channels, so nothing is decoded: the records are copied as the bytes they are. Throws on an unknown
 * version.
 */
export function readShown(bytes: Buffer): ShownValue {
  // Every byte is a character of it, and no part of a character beyond ASCII looks like one of those that are searched for.
  const text = bytes.toString('latin1')
  const { v, now, next, send } = partsOf(text)
  requireVersion(v)
  const [nowLatin, nextLatin] = [rawOrNull(now), rawOrNull(next)]
  // Of their own: a slice of what came, or of Node's shared pool, would keep much more alive for as long as the channel is quiet.
  const own = Buffer.allocUnsafeSlow((nowLatin?.length ?? 0) + (nextLatin?.length ?? 0))
  const nowBytes = own.write(nowLatin ?? '', 'latin1')
  own.write(nextLatin ?? '', nowBytes, 'latin1')
  return {
    send: sendOf(send),
    now: nowLatin === null ? null : { bytes: own.subarray(0, nowBytes), stationkey: stationkeyOf(nowLatin) },
    next: nextLatin === null ? null : { bytes: own.subarray(nowBytes), stationkey: stationkeyOf(nextLatin) },
    nextIsEmpty: nextLatin !== null && isEmptyNextJson(nextLatin),
  }
}

/** The source texts of the members that are read. */
type Parts = Record<'v' | 'event' | 'done' | 'prev' | 'now' | 'next' | 'send', string | undefined>

function partsOf(json: string): Parts {
  return quickParts(json) ?? (Object.fromEntries(members(json, 'send')) as Parts)
}

const untilNow = /^\{"v":(1),"event":(\d+),"done":(true|false),"prev":(\d+),"now":/
const untilNext = ',"next":'
const untilSend = ',"send":'

/**
 * The same as members(json, 'send') of a value from encodeValue, without looking at each character. null where its
 * records are not of the usual form.
 */
function quickParts(json: string): Parts | null {
  const [head, v, event, done, prev] = untilNow.exec(json) ?? []
  if (head === undefined) return null
  const nowEnd = endOfRecord(json, head.length)
  if (nowEnd < 0 || !json.startsWith(untilNext, nowEnd)) return null
  const nextStart = nowEnd + untilNext.length
  const nextEnd = endOfRecord(json, nextStart)
  if (nextEnd < 0 || !json.startsWith(untilSend, nextEnd)) return null
  const sendStart = nextEnd + untilSend.length
  const now = json.slice(head.length, nowEnd)
  const next = json.slice(nextStart, nextEnd)
  const send = json.slice(sendStart, json.indexOf(']', sendStart) + 1)
  return { v, event, done, prev, now, next, send }
}

function sendOf(send: string | undefined): StoredValue['send'] {
  return JSON.parse(send ?? '[]')
}

function isEmptyNextJson(json: string): boolean {
  return json.includes('"song":""') && isEmptyNext(JSON.parse(json))
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
