// The answer to a push (spec 2.2, rules 1 and 2).
import type { ChannelContext, Element, Tracktype } from './event.ts'
import { formatLocal, formatUtc } from './time.ts'

/** The object of spec 2.2, with what was repaired or ignored. */
export type PushResponse = {
  /** RFC 3339 in UTC. */
  time: string
  /** `DD.MM.YYYY HH:MM:SS` in `timezone`. */
  start: string
  /** Unix seconds. */
  start_timestamp: number
  /** Seconds. */
  duration: number
  song: string
  artist: string
  code: string
  channelkey: string
  timezone: string
  channel: string
  id: string
  userplayout: boolean
  separator: string
  etype: number
  album: string
  type: Tracktype
  isrc: string
  warnings?: string[]
}

/** Everything that decides the answer. */
export type PushResponseFacts = {
  channelkey: string
  element: Element
  /** Unix milliseconds. */
  startMs: number
  tracktype: Tracktype
  context: Pick<ChannelContext, 'timezone'>
  warnings: string[]
  /** true only for a push for one listener (rule 18). */
  userplayout?: boolean
}

/** The answer to a stored push; `time`, `start` with `timezone`, and `start_timestamp` name the same instant. */
export function makeResponse(facts: PushResponseFacts): PushResponse {
  const { channelkey, element, startMs, context, warnings } = facts
  return {
    time: formatUtc(startMs),
    start: formatLocal(startMs, context.timezone),
    start_timestamp: Math.floor(startMs / 1000),
    duration: element.duration,
    song: element.song,
    artist: element.artist,
    code: channelkey,
    channelkey,
    timezone: context.timezone,
    channel: channelkey,
    id: element.id,
    userplayout: facts.userplayout ?? false,
    separator: element.separator,
    etype: element.etype,
    album: element.album,
    type: facts.tracktype,
    isrc: element.isrc,
    ...(warnings.length > 0 ? { warnings } : {}),
  }
}
