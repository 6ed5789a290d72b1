// A player of an Icecast stream that reads the titles out of the audio bytes, as players with Icy-MetaData do.
import http from 'node:http'
import { until } from './log.ts'

export type Listener = {
  /** Every metadata block that was not empty, in order: its bytes without the padding. */
  readonly blocks: readonly Buffer[]
  /** Audio bytes between the blocks. */
  readonly audioBytes: number
  /** Resolves once the newest block is this text. */
  hears(text: string, timeoutMs?: number): Promise<void>
  stop(): void
}

/** Resolves once the server has answered with a stream that holds titles. */
export async function listen(url: string): Promise<Listener> {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get(url, { headers: { 'Icy-MetaData': '1' }, agent: false }, resolve).on('error', reject)
  })
  const interval = Number(response.headers['icy-metaint'])
  if (response.statusCode !== 200 || !(interval > 0)) {
    response.destroy()
    throw new Error(`status ${response.statusCode}, icy-metaint ${response.headers['icy-metaint']}`)
  }
  const reader = new IcyReader(interval)
  response.on('data', (bytes: Buffer) => reader.read(bytes))
  // The server or the source may go: what was heard until then counts.
  response.on('error', () => response.destroy())
  return {
    blocks: reader.blocks,
    get audioBytes() {
      return reader.audioBytes
    },
    hears: (text, timeoutMs) =>
      until(`${url} says ${text}`, () => reader.blocks.at(-1)?.toString() === text, timeoutMs),
    stop: () => response.destroy(),
  }
}

/** `interval` bytes of audio, one byte with a sixteenth of the block's length, the block, and again. */
class IcyReader {
  readonly blocks: Buffer[] = []
  audioBytes = 0
  readonly #interval: number
  #untilBlock: number
  #rest = Buffer.alloc(0)

  constructor(interval: number) {
    this.#interval = interval
    this.#untilBlock = interval
  }

  read(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes])
    while (rest.length > this.#untilBlock) {
      const blockLength = (rest[this.#untilBlock] ?? 0) * 16
      const end = this.#untilBlock + 1 + blockLength
      if (rest.length < end) break
      if (blockLength > 0) this.#add(rest.subarray(end - blockLength, end))
      this.audioBytes += this.#untilBlock
      rest = rest.subarray(end)
      this.#untilBlock = this.#interval
    }
    this.#rest = rest
  }

  #add(block: Buffer): void {
    const padding = block.indexOf(0)
    this.blocks.push(padding < 0 ? block : block.subarray(0, padding))
  }
}
