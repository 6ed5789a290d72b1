// A player that is cut off at random moments and comes back with the position of the last record it got.
import { WebSocket } from 'ws'
import { EventClient } from '../edge/event-source.ts'

export type CutClientOptions = {
  /** The edges to choose from, at each connect. */
  edges: () => string[]
  transport: 'ws' | 'sse'
  scope: 'channel' | 'station'
  key: string
}

export class CutClient {
  readonly options: CutClientOptions
  /** The records as they came, over all connections. */
  readonly received: string[] = []
  cuts = 0
  gaps = 0
  /** Connections that were refused, or closed for resuming too often. */
  refused = 0
  #lastPosition = ''
  #close: () => void = () => undefined
  #stopped = false
  #retry: NodeJS.Timeout | undefined

  constructor(options: CutClientOptions) {
    this.options = options
  }

  get lastPosition(): string {
    return this.#lastPosition
  }

  /** Connects, and again whenever the server ends it. */
  connect(): void {
    const { edges, transport } = this.options
    const urls = edges()
    const url = urls[Math.floor(Math.random() * urls.length)] ?? ''
    let isOpen = true
    const lost = () => {
      if (isOpen) this.#retry = setTimeout(() => this.connect(), 20 + Math.random() * 100)
      isOpen = false
    }
    const take = (text: string) => {
      if (isOpen) this.#take(text)
    }
    const close = transport === 'ws' ? this.#openSocket(url, take, lost) : this.#openStream(url, take, lost)
    this.#close = () => {
      isOpen = false
      close()
    }
  }

  /** Cuts the connection, if anything has come yet, and comes back after a while. */
  cut(awayMs: number): void {
    if (this.#lastPosition === '' || this.#stopped) return
    this.cuts++
    this.#close()
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.connect(), awayMs)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#retry)
    this.#close()
  }

  #openSocket(url: string, take: (text: string) => void, lost: () => void): () => void {
    const { scope, key } = this.options
    const after = this.#lastPosition === '' ? '' : `?after=${this.#lastPosition}`
    const ws = new WebSocket(`${url.replace('http', 'ws')}/metadata/${scope}/${key}${after}`)
    ws.on('message', data => take(String(data)))
    ws.on('unexpected-response', () => this.refused++)
    ws.on('close', code => {
      if (code === 4429) this.refused++
      lost()
    })
    // The close that follows says enough.
    ws.on('error', () => undefined)
    return () => ws.terminate()
  }

  #openStream(url: string, take: (text: string) => void, lost: () => void): () => void {
    const { scope, key } = this.options
    const client = EventClient.start(
      `${url}/metadata/sse/${scope}/${key}`,
      this.#lastPosition === '' ? undefined : this.#lastPosition,
      ({ data }) => take(data),
    )
    void client.over.then(() => {
      if (client.status !== 200 && client.status !== 0) this.refused++
      lost()
    })
    return () => client.close()
  }

  #take(text: string): void {
    const { type, position } = JSON.parse(text)
    if (type === 'gap') {
      this.gaps++
      return
    }
    this.received.push(text)
    this.#lastPosition = position
  }
}
