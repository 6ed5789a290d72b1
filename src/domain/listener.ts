// What is known of one listener (spec 4.5, rules 18 and 28): the session, and a title that is for this listener
// alone. Both stand in one value, so that they cannot disagree.
import type { PushEvent } from './event.ts'
import { encodeRecord, makeRecord } from './record.ts'

/** Who listens to what, as the stream server says. */
export type Session = {
  channelkey: string
  /** Whose session it is, in the stream server's words; empty where it names nobody. */
  client: string
  /** As the listener's records name it. */
  session: string
  /** Without its query. */
  mount: string
}

/** A `now` that takes the place of the channel's for one listener. */
export type Overlay = {
  /** JSON of the whole record but for session and mount, which are the session's. */
  record: string
  /** When the channel's record shows again, unix milliseconds; null: not by itself. */
  untilMs: number | null
}

export type Listener = { session: Session; overlay: Overlay | null }

const version = 1
/** A start further back is that of a slow clock: the duration then counts from the arrival. */
const slowClockMs = 10 * 60_000

/** A session begins, or shows a sign of life. The latest wins; an overlay stays only within one session. */
export function begin(before: Listener | null, session: Session): Listener {
  const goes =
    before === null ||
    before.session.client !== session.client ||
    before.session.channelkey !== session.channelkey
  return { session, overlay: goes ? null : before.overlay }
}

/** A session of a channel ends: the one of this client (null: whoever's). Any other stays, as the same object. */
export function end(before: Listener | null, channelkey: string, client: string | null): Listener | null {
  if (!isOn(before, channelkey)) return before
  return client === null || before.session.client === client ? null : before
}

/** Whether the listener's session is on this channel. */
export function isOn(listener: Listener | null, channelkey: string): listener is Listener {
  return listener?.session.channelkey === channelkey
}

/** The overlay that a push for one listener makes; null where its texts are empty: that withdraws it (rule 18). */
export function overlayOf(channelkey: string, push: PushEvent): Overlay | null {
  const { element, startMs, receivedMs, context } = push
  if (element.song === '' && element.artist === '') return null
  const record = makeRecord({ channelkey, type: 'now', element, startMs, context, source: 'metapush' })
  const countsFromMs = startMs < receivedMs - slowClockMs ? receivedMs : startMs
  return {
    record: encodeRecord({ ...record, userplayout: true }, ''),
    untilMs: element.duration === 0 ? null : countsFromMs + element.duration * 1000,
  }
}

/** The overlay that is shown at a moment, if any. */
export function visibleOverlay(listener: Listener | null, nowMs: number): Overlay | null {
  const overlay = listener?.overlay ?? null
  return overlay === null || (overlay.untilMs !== null && overlay.untilMs <= nowMs) ? null : overlay
}

/** What a listener sees: whose records, and what covers them. */
export type Sight = { session: Session; overlay: Overlay | null } | null

/** What must be sent when a listener's sight changes: both records, the `now` alone, or nothing. */
export function difference(before: Sight, after: Sight): 'all' | 'now' | 'nothing' {
  if (after === null) return 'nothing'
  if (before === null || !isSameForListener(before.session, after.session)) return 'all'
  return before.overlay?.record === after.overlay?.record ? 'nothing' : 'now'
}

/** The client is the stream server's affair: no record shows it. */
function isSameForListener(a: Session, b: Session): boolean {
  return a.channelkey === b.channelkey && a.session === b.session && a.mount === b.mount
}

export function encodeListener({ session, overlay }: Listener): string {
  return JSON.stringify({ v: version, session, overlay })
}

/** The inverse. Throws on an unknown version. */
export function decodeListener(json: string): Listener {
  const { v, session, overlay } = JSON.parse(json)
  if (v !== version) throw new Error(`listener of version ${v}`)
  return { session, overlay }
}
