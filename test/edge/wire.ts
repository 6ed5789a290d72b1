// HTTP as bytes on one connection, to see what no client shows: segments, pipelining, HEAD, who closes.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

export type WireAnswer = { status: number; headers: Map<string, string>; body: string }

export class Wire {
  readonly socket: Socket
  #received = ''
  #ended = false
  #changed: () => void = () => undefined

  private constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setNoDelay(true)
    this.socket.setEncoding('latin1')
    this.socket.on('data', data => {
      this.#received += data
      this.#changed()
    })
    this.socket.on('close', () => {
      this.#ended = true
      this.#changed()
    })
    // Whoever reads on sees that it has ended.
    this.socket.on('error', () => undefined)
  }

  static async open(port: number): Promise<Wire> {
    const wire = new Wire(port)
    await once(wire.socket, 'connect')
    return wire
  }

  /** Each part is a TCP segment of its own, and read as such: the server is in this process, so it gets its turns. */
  async send(...parts: string[]): Promise<void> {
    for (const part of parts) {
      this.socket.write(part, 'latin1')
      for (let turn = 0; turn < 3; turn++) await nextTurn()
    }
  }

  /** The next answer; `bodiless` where the request was a HEAD. */
  async answer({ bodiless = false } = {}): Promise<WireAnswer> {
    await this.#until(() => this.#received.includes('\r\n\r\n'))
    const end = this.#received.indexOf('\r\n\r\n') + 4
    const [statusLine = '', ...lines] = this.#received.slice(0, end - 4).split('\r\n')
    const headers = new Map(
      lines.map(line => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const length = bodiless ? 0 : Number(headers.get('content-length') ?? 0)
    await this.#until(() => this.#received.length >= end + length)
    const body = this.#received.slice(end, end + length)
    this.#received = this.#received.slice(end + length)
    return { status: Number(statusLine.split(' ')[1]), headers, body }
  }

  /** What is left when the server has closed. */
  async rest(): Promise<string> {
    while (!this.#ended) await this.#change()
    return this.#received
  }

  close(): void {
    this.socket.destroy()
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#ended) throw new Error(`closed after ${JSON.stringify(this.#received)}`)
      await this.#change()
    }
  }

  #change(): Promise<void> {
    return new Promise(resolve => {
      this.#changed = resolve
    })
  }
}
