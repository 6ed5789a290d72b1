// The values of the bucket `channel`: what was shown. One value, so now and next can never disagree.
import { members } from './json.ts'
import { decodeRecord, encodeRecord, isEmptyNext, type MetadataRecord } from './record.ts'
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
  const raw = members(json)
  requireVersion(raw.get('v'))
  const nextJson = rawOrNull(raw.get('next'))
  return {
    event: Number(raw.get('event')),
    done: raw.get('done') === 'true',
    prev: Number(raw.get('prev')),
    send: JSON.parse(raw.get('send') ?? '[]'),
    nowJson: rawOrNull(raw.get('now')),
    nextJson,
    nextIsEmpty: nextJson !== null && isEmptyNext(JSON.parse(nextJson)),
  }
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
export type PlayedValue = ValuePlace & {
  play: PlayEntry | null
  now: MetadataRecord | null
  warnings: string[]
}

export function readPlayed(json: string): PlayedValue {
  const value = readValue(json)
  const raw = members(json)
  const playJson = raw.get('play') ?? 'null'
  const play = JSON.parse(playJson)
  if (play?.kind === 'late') play.record = decodeRecord(members(playJson).get('record') ?? '{}')
  return {
    event: value.event,
    done: value.done,
    prev: value.prev,
    play,
    now: value.nowJson === null ? null : decodeRecord(value.nowJson),
    warnings: JSON.parse(raw.get('warnings') ?? '[]'),
  }
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
  if (version !== String(valueVersion)) throw new UnknownVersion(`value of version ${version}`)
}

/** Data of a later release; it is skipped and counted, and the last good state stays. */
export class UnknownVersion extends Error {
  override name = 'UnknownVersion'
}
