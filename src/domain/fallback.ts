// What takes the place of a `now` that has run out (rule 17).
import { v5 as uuidV5 } from 'uuid'
import { makeRecord } from './record.ts'
import type { ChannelState, Play } from './state.ts'
import { endMs } from './verdict.ts'

/** Namespace of the ids of fallbacks, so that every replay names the same one. */
const idNamespace = '6f0a1c52-8d1b-5f0e-9c34-2b6d7a9e4f10'

export function isFallback(play: Play): boolean {
  return play.record.source === 'fallback'
}

/** When the fallback is due, or null where none is to come. Unix milliseconds. */
export function fallbackDueMs({ now, context }: ChannelState): number | null {
  const fallback = context?.fallback
  if (!fallback || now === null || isFallback(now)) return null
  const end = endMs(now)
  if (end !== null) return end + fallback.afterSeconds * 1000
  return fallback.unknownAfterSeconds === undefined
    ? null
    : now.arrivalMs + fallback.unknownAfterSeconds * 1000
}

/** The fallback that begins at `dueMs`; the state must have one due. */
export function fallbackPlay(channelkey: string, { context }: ChannelState, dueMs: number): Play {
  if (!context?.fallback) throw new Error('no fallback is due')
  const { song, artist } = context.fallback
  const element = {
    id: uuidV5(`${channelkey}.${dueMs}`, idNamespace),
    song,
    artist,
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
  const record = makeRecord({ channelkey, type: 'now', element, startMs: dueMs, context, source: 'fallback' })
  return {
    record,
    idGiven: false,
    startMs: dueMs,
    explicit: false,
    arrivalMs: dueMs,
    receivedMs: dueMs,
    intake: '',
  }
}
