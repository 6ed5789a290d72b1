// Reading a request's body. One that is too large is read to its end and thrown away, within reason: a connection
// that is closed on unread bytes is reset, and the sender may never see why.
import type { Readable } from 'node:stream'
import { Problem } from '../api/errors.ts'

/** How many bytes past the limit are read and thrown away. */
const maxDiscardedBytes = 1024 * 1024

/** Calls back once with the whole body, or with a Problem (413 past `limit` bytes), in the turn in which its last byte is read. */
export function readBody(
  stream: Readable,
  limit: number,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const chunks: Buffer[] = []
  let length = 0
  const end = (error: Error | null) => {
    stream.off('data', read).off('end', ended).off('error', end)
    if (error !== null) done(error)
    else if (length <= limit) done(null, Buffer.concat(chunks, length))
    else done(new Problem('too-large', `The body is over ${limit} bytes.`))
  }
  const read = (chunk: Buffer) => {
    length += chunk.length
    if (length <= limit) chunks.push(chunk)
    if (length > limit + maxDiscardedBytes) end(null)
  }
  const ended = () => end(null)
  stream.on('data', read).on('end', ended).on('error', end)
}
