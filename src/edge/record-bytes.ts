// What can be told of a record from its bytes, without decoding the whole of it.

/** A record's JSON begins with its position (encodeRecord). */
const head = /^\{"position":"([A-Za-z0-9_-]*)"/
const headBytes = 40

/** The position of a record as it goes to players; empty where it has none (rule 18, and a gap). */
export function positionOf(record: Uint8Array): string {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength)
  return head.exec(bytes.toString('latin1', 0, headBytes))?.[1] ?? JSON.parse(bytes.toString()).position ?? ''
}
