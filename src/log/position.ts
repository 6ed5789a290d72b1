// A position: the place of a record in the log of shown records and that log's incarnation (Keys, rules 19 and 25).

export type Place = {
  /** Sequence in KV_channel. */
  sequence: number
  /** 0 for next, 1 for now: the order in which one value's records are sent. */
  slot: 0 | 1
}

/** Opaque, URL-safe, hash-like. */
export function encodePosition(_incarnation: string, _place: Place): string {
  throw new Error('not built')
}

/** undefined: malformed. A well-formed position may be of another incarnation. */
export function decodePosition(_text: string): (Place & { incarnation: string }) | undefined {
  throw new Error('not built')
}
