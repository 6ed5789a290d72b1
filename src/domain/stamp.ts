// A channel's record as one listener gets it: with session and mount (rule 28). The record is taken apart once per
// change; then each listener costs no more than putting bytes together.

/** A record's bytes around the two texts. */
export type Template = { head: Uint8Array; between: Uint8Array; tail: Uint8Array }

/** The two texts as JSON. */
export type Stamp = { session: Uint8Array; mount: Uint8Array }

// A quote inside of a text is escaped, and objects come last in a record: the first of each is the record's own.
const session = Buffer.from('"session":""')
const mount = Buffer.from('"mount":""')
const emptyText = 2

/** Takes apart a record that encodeRecord made, with both texts empty. Throws on anything else. */
export function templateOf(record: Uint8Array): Template {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.length)
  const sessionEnd = endOf(bytes, session, 0)
  const mountEnd = endOf(bytes, mount, sessionEnd)
  return {
    head: bytes.subarray(0, sessionEnd - emptyText),
    between: bytes.subarray(sessionEnd, mountEnd - emptyText),
    tail: bytes.subarray(mountEnd),
  }
}

function endOf(bytes: Buffer, member: Buffer, from: number): number {
  const at = bytes.indexOf(member, from)
  if (at < 0) throw new Error('a record without an empty session and mount')
  return at + member.length
}

/** null where both are empty: then the record is right as it stands. */
export function stampOf(texts: { session: string; mount: string }): Stamp | null {
  if (texts.session === '' && texts.mount === '') return null
  return {
    session: Buffer.from(JSON.stringify(texts.session)),
    mount: Buffer.from(JSON.stringify(texts.mount)),
  }
}

export function stamped({ head, between, tail }: Template, stamp: Stamp): Uint8Array {
  return Buffer.concat([head, stamp.session, between, stamp.mount, tail])
}
