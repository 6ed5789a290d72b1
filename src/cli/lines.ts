// The lines of a file, one after the other: only \n ends a line, since JSON may hold every other separator.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { StartError } from '../observe/service.ts'

export type Line = {
  /** The first is 1. */
  number: number
  text: string
}

const maxLineBytes = 4 * 1024 * 1024
const newline = 0x0a
const bom = '\ufeff'

/** Without the line ends, and without a BOM in front. Throws a StartError that names file and line. */
export async function* linesOf(file: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest: Buffer = Buffer.alloc(0)
  let number = 0
  const take = (bytes: Buffer): Line => {
    number++
    try {
      const text = decoder.decode(bytes).replace(/\r$/, '')
      return { number, text: number === 1 && text.startsWith(bom) ? text.slice(1) : text }
    } catch {
      throw new StartError(`${file}, line ${number}: not valid UTF-8`)
    }
  }
  for await (const chunk of chunksOf(file)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      yield take(bytes.subarray(start, end))
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length > maxLineBytes)
      throw new StartError(`${file}, line ${number + 1}: longer than ${maxLineBytes} bytes`)
  }
  if (rest.length > 0) yield take(rest)
}

/** 16 characters that are the same for the same bytes. Throws a StartError where the file can't be read. */
export async function fingerprintOf(file: string, more: string): Promise<string> {
  const hash = createHash('sha256').update(more)
  for await (const chunk of chunksOf(file)) hash.update(chunk)
  return hash.digest('hex').slice(0, 16)
}

async function* chunksOf(file: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) yield chunk
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new StartError(`${file} cannot be read: ${code}`)
  }
}
