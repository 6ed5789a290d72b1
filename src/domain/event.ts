// What was said: the events of the log EVENTS. An event is self-contained: it carries all that the fold needs,
// so that a rebuild, the history and an export need nothing but the log (spec rule 19, last sentence).

/** The two track types of a metadata element (spec 3). */
export type Tracktype = 'now' | 'next'

/** Cover pictures by size; each is an http(s) address (spec 2.1). */
export type Images = { small?: { url: string }; medium?: { url: string }; large?: { url: string } }

/** A normalised metadata element (spec 2.1, 4.1; rules 4 to 9). Every text is NFC and free of control characters. */
export type Element = {
  /** The pusher's id (at most 255 bytes), else a generated UUID. Never empty. */
  id: string
  song: string
  artist: string
  album: string
  /** An http(s) address, or empty. */
  cover: string
  images: Images | null
  /** Kept with its blanks; never empty. */
  separator: string
  isrc: string
  /** Seconds, 0 to 2^31-1; 0 is unknown. */
  duration: number
  /** Content type, spec 2.3. */
  etype: number
  /** Compact JSON text of an object, as pushed: numbers beyond 2^53 and the order of keys survive. */
  extdata: string | null
  /** Compact JSON text of an object or a string, as pushed. */
  externalid: string | null
}

/** The fields of an element that a push can bring. */
export type ElementField = keyof Element

/** What takes the place of a `now` that has run out (rule 17). Seconds. */
export type Fallback = { song: string; artist: string; afterSeconds: number; unknownAfterSeconds?: number }

/** What the registry said about the channel when the push came in. */
export type ChannelContext = {
  /** The registry entry's revision: tells events of a deleted channel from those of its successor. */
  revision: number
  stationkey: string
  /** Display name of the station, or the stationkey. */
  station: string
  /** Display name of the channel, or the channelkey. */
  channel: string
  /** IANA name: the channel's zone, else the station's, else UTC. */
  timezone: string
  /** The channel's default cover, or empty. */
  cover: string
  /** How far ahead a `now` may lie to be held until its start (rule 15). */
  holdSeconds: number
  fallback: Fallback | null
  /** false: a `next` stays in the reducer's state and is not delivered (rule 16). */
  announceNext: boolean
}

/** A push, as the intake understood it. Never holds the token. */
export type PushEvent = {
  v: 1
  kind: Tracktype
  element: Element
  /** The fields that the pusher really gave, with a value (an empty text, a null and a duration of 0 give nothing). */
  given: ElementField[]
  /** The start as answered, unix milliseconds: the pushed time, else the time of receipt. */
  startMs: number
  /** startMs came from the pusher, and the intake did not find its clock wrong. */
  explicit: boolean
  /** The intake's clock at receipt, unix milliseconds. */
  receivedMs: number
  /** Which intake process received it. */
  intake: string
  /** What was repaired or ignored, in words. */
  warnings: string[]
  context: ChannelContext
}

/** Time passes through the log too: something of the channel was due (rules 15 to 17). */
export type TickEvent = { v: 1; kind: 'tick' }

/** The channel's registry entry was removed; revision is that of the removal. */
export type DeleteEvent = { v: 1; kind: 'delete'; revision: number }

export type NowNextEvent = PushEvent | TickEvent | DeleteEvent

/** An event with its place and time in the log, the reducer's only clock. */
export type LoggedEvent = {
  channelkey: string
  /** Sequence in EVENTS. */
  sequence: number
  /** Time of the log, unix milliseconds. */
  timeMs: number
  event: NowNextEvent
}
