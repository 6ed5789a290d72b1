// What a push is, compared with the current record of its tracktype (rules 13 and 14).
import { hash } from 'node:crypto'
import type { Candidate } from './candidate.ts'
import type { ElementField } from './event.ts'
import type { MetadataRecord } from './record.ts'
import type { ChannelState, Play, TimedPlay } from './state.ts'

const sameTimeMs = 15_000
const hotStandbyMs = 15_000
const afterEndMs = 10_000
const slowClockMs = 600_000
const unknownEndMs = 600_000
const lateFromMs = 2_000
const lateToMs = 600_000
const overtakenMs = 1_000
const recentPlays = 20

export type NowVerdict =
  | 'repeat'
  | 'correction'
  | 'older'
  | 'overtaken'
  | 'old list'
  | 'wrong clock'
  | 'new play'

/** What a `now` is beside the current one, which is no fallback. */
export function judgeNow(push: Candidate, current: Play, recent: ChannelState['recent']): NowVerdict {
  const repeated = judgeRepeat(push, current, endMs(current))
  if (repeated !== 'other') return repeated
  const olderMs = push.explicit && current.explicit ? current.startMs - push.startMs : 0
  if (olderMs >= lateFromMs && olderMs <= lateToMs && push.arrivalMs < runsOutMs(current)) return 'older'
  if (push.wasHeld) return 'new play'
  if (push.intake === current.intake && current.receivedMs - push.receivedMs >= overtakenMs)
    return 'overtaken'
  if (olderMs <= lateToMs) return 'new play'
  return recent.some(play => isSamePlay(push, play)) ? 'old list' : 'wrong clock'
}

/**
 * Whether a push repeats or corrects a record (rule 13). `endMs` is when the record ends, null if unknown.
 * A repeat that brings a new value in some field is a correction.
 */
export function judgeRepeat(
  push: Candidate,
  current: Play,
  endMs: number | null,
): 'repeat' | 'correction' | 'other' {
  if (!isRepeat(push, current, endMs) && !isMended(push, current)) return 'other'
  return corrected(push, current.record) === null ? 'repeat' : 'correction'
}

function isRepeat(push: Candidate, current: Play, endMs: number | null): boolean {
  if (!isSameText(push, current.record)) return false
  if (Math.abs(push.arrivalMs - current.arrivalMs) <= hotStandbyMs) return true
  const inTime = endMs === null || push.arrivalMs < endMs + afterEndMs || isEqualTime(push, current)
  return !hasOtherId(push, current) && !hasOtherTime(push, current) && inTime
}

/** The same play with other words: a placeholder replaced, a typo mended. */
function isMended(push: Candidate, current: Play): boolean {
  if (!hasSameId(push, current)) return false
  if (isEqualTime(push, current)) return true
  return isTypo(push.element, current.record) && push.arrivalMs < runsOutMs(current)
}

/** One text equal, the other mended. Two empty artists say nothing, and two equal texts are a play of their own. */
function isTypo(brought: { song: string; artist: string }, shown: { song: string; artist: string }): boolean {
  const sameSong = brought.song === shown.song
  const sameArtist = brought.artist === shown.artist
  if (sameSong === sameArtist) return false
  return (sameSong ? shown.song : shown.artist) !== ''
}

/** The record with the given fields of a push in place of its own, or null where that changes nothing. */
export function corrected(push: Candidate, record: MetadataRecord): MetadataRecord | null {
  const fields = push.given.filter(field => field !== 'id' && !isEqualField(push, record, field))
  if (fields.length === 0) return null
  return { ...record, ...Object.fromEntries(fields.map(field => [field, push.element[field]])) }
}

function isEqualField(push: Candidate, record: MetadataRecord, field: ElementField): boolean {
  const brought = push.element[field]
  const held = record[field]
  return field === 'images' ? JSON.stringify(brought) === JSON.stringify(held) : brought === held
}

/** When a play ends, or null where its duration is unknown; a slow clock is reckoned from arrival. */
export function endMs({ record, startMs, arrivalMs }: Play): number | null {
  if (record.duration === 0) return null
  return (arrivalMs - startMs > slowClockMs ? arrivalMs : startMs) + record.duration * 1000
}

/** Until when a play counts as lasting (rule 14). */
function runsOutMs(play: Play): number {
  return endMs(play) ?? play.arrivalMs + unknownEndMs
}

export function isSameText(push: Candidate, record: MetadataRecord): boolean {
  return push.element.song === record.song && push.element.artist === record.artist
}

export function hasSameId(push: Candidate, play: Play): boolean {
  return push.given.includes('id') && play.idGiven && push.element.id === play.record.id
}

export function hasOtherId(push: Candidate, play: Play): boolean {
  return push.given.includes('id') && play.idGiven && push.element.id !== play.record.id
}

export function hasOtherTime(push: Candidate, play: Play): boolean {
  return push.explicit && play.explicit && Math.abs(push.startMs - play.startMs) > sameTimeMs
}

function isEqualTime(push: Candidate, play: Play): boolean {
  return push.explicit && play.explicit && push.startMs === play.startMs
}

function isSamePlay(push: Candidate, play: TimedPlay | null): boolean {
  if (play === null || play.pushedMs !== push.pushedMs) return false
  return play.text === textHash(push.element) || (play.id !== '' && play.id === givenId(push))
}

/** The list of recent plays with one more, the oldest gone. */
export function remember(recent: ChannelState['recent'], push: Candidate): ChannelState['recent'] {
  const { pushedMs } = push
  const play = pushedMs === null ? null : { text: textHash(push.element), id: givenId(push), pushedMs }
  return [...recent.slice(1 - recentPlays), play]
}

function givenId(push: Candidate): string {
  return push.given.includes('id') ? push.element.id : ''
}

function textHash({ artist, song }: { artist: string; song: string }): string {
  return hash('sha256', `${artist}\0${song}`, 'base64url').slice(0, 16)
}
