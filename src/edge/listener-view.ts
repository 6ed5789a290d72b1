// What one listener sees right now: the channel's records with session and mount, the `now` perhaps covered by an
// overlay (rules 18 and 28).
import { type Listener, type Overlay, visibleOverlay } from '../domain/listener.ts'
import { type Stamp, stamped, stampOf, type Template, templateOf } from '../domain/stamp.ts'
import type { ShownChannel } from './channel-state.ts'

/** Ready bytes; null: nothing. */
export type View = { now: Uint8Array | null; next: Uint8Array | null }

export const emptyView: View = { now: null, next: null }

/** A record's parts, made once per change and only where a listener needs them; they go with the record. */
const templates = new WeakMap<Uint8Array, Template>()

/** A channel's record as this listener gets it; the very same bytes where the session has nothing to say. */
export function personal(record: Uint8Array, stamp: Stamp | null): Uint8Array {
  if (stamp === null) return record
  let template = templates.get(record)
  if (template === undefined) {
    template = templateOf(record)
    templates.set(record, template)
  }
  return stamped(template, stamp)
}

/** The view at a moment, unix milliseconds; `channel` is that of the session. */
export function viewOf(listener: Listener | null, channel: ShownChannel | undefined, nowMs: number): View {
  if (listener === null) return emptyView
  const stamp = stampOf(listener.session)
  const overlay = visibleOverlay(listener, nowMs)
  const now = overlay === null ? (channel?.now?.bytes ?? null) : recordOf(overlay)
  const next = channel?.next?.bytes ?? null
  return { now: now && personal(now, stamp), next: next && personal(next, stamp) }
}

function recordOf(overlay: Overlay): Uint8Array {
  return Buffer.from(overlay.record)
}
