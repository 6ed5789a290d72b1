// Events for tests.
import { decodeParameters } from '../../src/domain/decode.ts'
import type { ChannelContext, Element, PushEvent } from '../../src/domain/event.ts'
import type { Decoded, DecodeFacts } from '../../src/domain/normalise.ts'
import { parseQuery } from '../../src/domain/query.ts'

export type PushFacts = Partial<Omit<PushEvent, 'element' | 'context'>> & {
  element?: Partial<Element>
  context?: Partial<ChannelContext>
}

/** What a push that gives nothing is. */
export const emptyElement: Element = {
  id: '',
  song: '',
  artist: '',
  album: '',
  cover: '',
  images: null,
  separator: ' - ',
  isrc: '',
  duration: 0,
  etype: 0,
  extdata: null,
  externalid: null,
}

/** A push of a title without a time of its own, as the intake would store it. */
export function pushOf(song: string, facts: PushFacts = {}): PushEvent {
  const { element, context, ...rest } = facts
  const nowMs = Date.now()
  return {
    v: 1,
    kind: 'now',
    given: ['song', 'artist'],
    startMs: nowMs,
    explicit: false,
    receivedMs: nowMs,
    intake: 'test',
    warnings: [],
    ...rest,
    element: { ...emptyElement, id: `id-${song}`, song, artist: 'Artist', ...element },
    context: {
      revision: 1,
      stationkey: 'station',
      station: 'Station',
      channel: 'Channel',
      timezone: 'Europe/Berlin',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
      ...context,
    },
  }
}

/** A push by GET, from its query without the `?`. */
export function decodeQuery(query: string, facts: DecodeFacts): Decoded {
  return decodeParameters(parseQuery(query) ?? new Map(), facts)
}
