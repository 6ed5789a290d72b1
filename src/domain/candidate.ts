// A push as the reducer meets it: with the log's clock, and its start settled (rules 7, 14 and 15).
import type { ChannelContext, Element, ElementField, LoggedEvent, PushEvent, Tracktype } from './event.ts'
import { type MetadataRecord, makeRecord } from './record.ts'
import type { Play } from './state.ts'

/** A receive time further than this from the log's is not believed. */
export const clockToleranceMs = 15_000

export type Candidate = {
  channelkey: string
  sequence: number
  kind: Tracktype
  element: Element
  given: ElementField[]
  context: ChannelContext
  startMs: number
  explicit: boolean
  /** The pushed time, also where it proved to be a wrong clock; null where none was pushed. */
  pushedMs: number | null
  arrivalMs: number
  receivedMs: number
  intake: string
  /** It waited for its start: rule 14's second clause does not concern it. */
  wasHeld: boolean
  warnings: string[]
}

/** The candidate of a push that arrives with its event. */
export function candidateOf({ channelkey, sequence, timeMs }: LoggedEvent, push: PushEvent): Candidate {
  const { kind, element, given, context, explicit, receivedMs, intake, warnings } = push
  return {
    channelkey,
    sequence,
    kind,
    element,
    given,
    context,
    startMs: explicit ? push.startMs : believedReceipt(receivedMs, timeMs),
    explicit,
    pushedMs: explicit ? push.startMs : null,
    arrivalMs: timeMs,
    receivedMs,
    intake,
    wasHeld: false,
    warnings,
  }
}

/** The same push with a start of its own arrival: the pushed time was a wrong clock (rules 14 and 15). */
export function withoutClock(candidate: Candidate): Candidate {
  return {
    ...candidate,
    startMs: candidate.arrivalMs,
    explicit: false,
    warnings: [
      ...candidate.warnings,
      'time: far from the time of arrival, taken for a wrong clock; the start is the arrival',
    ],
  }
}

/** A held push at its start, as if it arrived then (rule 15). */
export function atItsStart(channelkey: string, sequence: number, push: PushEvent): Candidate {
  const arriving = candidateOf({ channelkey, sequence, timeMs: push.startMs, event: push }, push)
  return { ...arriving, wasHeld: true }
}

export function isSilent({ element }: Candidate): boolean {
  return element.song === '' && element.artist === ''
}

export function recordOf(candidate: Candidate): MetadataRecord {
  const { channelkey, kind: type, element, startMs, context } = candidate
  return makeRecord({ channelkey, type, element, startMs, context, source: 'metapush' })
}

export function playOf(candidate: Candidate): Play {
  return {
    record: recordOf(candidate),
    idGiven: candidate.given.includes('id'),
    startMs: candidate.startMs,
    explicit: candidate.explicit,
    arrivalMs: candidate.arrivalMs,
    receivedMs: candidate.receivedMs,
    intake: candidate.intake,
  }
}

/** The intake's time of receipt, unless it is too far from the log's. */
function believedReceipt(receivedMs: number, logMs: number): number {
  return Math.abs(receivedMs - logMs) > clockToleranceMs ? logMs : receivedMs
}
