// A position: the place of a record in the log of shown records and that log's incarnation (Keys, rules 19 and 25).

export type Place = {
  /** Sequence in KV_channel. */
  sequence: number
  /** 0 for next, 1 for now: the order in which one value's records are sent. */
  slot: 0 | 1
}

// Twelve bytes: incarnation (4), sequence (6, its top bit is the slot), checksum (2). Sixteen characters of base64url
// without a bit to spare, so no two texts mean the same place.
const length = 12
const incarnationBytes = 4
const checkedBytes = 10
const slotBit = 2 ** 47
const text16 = /^[A-Za-z0-9_-]{16}$/

/** Opaque, URL-safe, hash-like: 16 characters. incarnation: 8 hex digits; sequence: below 2^47. */
export function encodePosition(incarnation: string, place: Place): string {
  const bytes = Buffer.allocUnsafe(length)
  bytes.writeUInt32BE(Number.parseInt(incarnation, 16), 0)
  bytes.writeUIntBE(place.sequence + place.slot * slotBit, incarnationBytes, 6)
  const check = checksum(bytes)
  bytes.writeUInt16BE(check, checkedBytes)
  scramble(bytes, check)
  return bytes.toString('base64url')
}

/** undefined: malformed. A well-formed position may be of another incarnation. */
export function decodePosition(text: string): (Place & { incarnation: string }) | undefined {
  if (!text16.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const check = bytes.readUInt16BE(checkedBytes)
  scramble(bytes, check)
  if (checksum(bytes) !== check) return undefined
  const place = bytes.readUIntBE(incarnationBytes, 6)
  const slot = place >= slotBit ? 1 : 0
  return {
    incarnation: bytes.toString('hex', 0, incarnationBytes),
    sequence: place - slot * slotBit,
    slot,
  }
}

/** FNV-1a over the first ten bytes, folded to 16 bits. It finds typing errors; it keeps no secret. */
function checksum(bytes: Buffer): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < checkedBytes; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193)
  return (hash ^ (hash >>> 16)) & 0xffff
}

/** Makes neighbours look unlike, so that nobody is tempted to count. Its own inverse. */
function scramble(bytes: Buffer, seed: number): void {
  let mask = seed | 0x10000
  for (let i = 0; i < checkedBytes; i++) {
    mask ^= mask << 13
    mask ^= mask >>> 17
    mask ^= mask << 5
    bytes[i] = (bytes[i] ?? 0) ^ (mask & 0xff)
  }
}
