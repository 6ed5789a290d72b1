// An EventSource as the standard describes it, small enough to see its bytes: fields, ids, comments, reconnects.
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'

export type ReceivedEvent = { id: string | undefined; data: string }

export class EventClient {
  readonly events: ReceivedEvent[] = []
  comments = 0
  retryMs: number | undefined
  /** What a browser would send as Last-Event-ID. */
  lastEventId = ''
  headers: IncomingMessage['headers'] = {}
  status = 0
  /** Resolves when the server ended the stream (true) or cut it (false). */
  readonly over: Promise<boolean>
  readonly #request: ClientRequest
  #response: IncomingMessage | undefined
  #rest = ''
  #changed: Array<() => void> = []

  readonly #onEvent: (event: ReceivedEvent) => void

  private constructor(url: string, lastEventId: string | undefined, onEvent: (event: ReceivedEvent) => void) {
    this.#onEvent = onEvent
    const headers: Record<string, string> = { accept: 'text/event-stream' }
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId
    // As browsers and curl do, it does not ask for the connection to be closed.
    this.#request = request(url, { headers, agent: new Agent({ keepAlive: true }) })
    this.over = new Promise(resolve => {
      this.#request.on('error', () => resolve(false))
      this.#request.on('response', response => {
        this.#response = response
        this.status = response.statusCode ?? 0
        this.headers = response.headers
        response.setEncoding('utf8').on('data', text => this.#take(text))
        response.on('end', () => resolve(true))
        response.on('error', () => resolve(false))
        this.#notify()
      })
    })
    this.#request.end()
  }

  /** Tells every event at once; does not wait for anything. */
  static start(
    url: string,
    lastEventId?: string,
    onEvent: (event: ReceivedEvent) => void = () => undefined,
  ): EventClient {
    return new EventClient(url, lastEventId, onEvent)
  }

  /** Resolves when the head has come. */
  static async open(url: string, lastEventId?: string): Promise<EventClient> {
    const client = EventClient.start(url, lastEventId)
    await Promise.race([client.#until(() => client.status !== 0), client.over])
    return client
  }

  /** The records received, once there are this many. */
  async records(count: number): Promise<Array<Record<string, unknown>>> {
    await this.#until(() => this.events.length >= count)
    return this.events.map(({ data }) => JSON.parse(data))
  }

  async comment(count: number): Promise<void> {
    await this.#until(() => this.comments >= count)
  }

  pause(): void {
    this.#response?.pause()
  }

  resume(): void {
    this.#response?.resume()
  }

  close(): void {
    this.#request.destroy()
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>(changed => this.#changed.push(changed))
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) this.#dispatch(block.split('\n'))
    this.#notify()
  }

  #dispatch(lines: string[]): void {
    let [id, data]: [string | undefined, string | undefined] = [undefined, undefined]
    for (const line of lines) {
      if (line.startsWith(':')) this.comments++
      else if (line.startsWith('id: ')) id = line.slice(4)
      else if (line.startsWith('data: '))
        data = data === undefined ? line.slice(6) : `${data}\n${line.slice(6)}`
      else if (line.startsWith('retry: ')) this.retryMs = Number(line.slice(7))
      else if (line !== '') throw new Error(`not a line of an event stream: ${JSON.stringify(line)}`)
    }
    if (id !== undefined) this.lastEventId = id
    if (data === undefined) return
    this.events.push({ id, data })
    this.#onEvent({ id, data })
  }

  #notify(): void {
    for (const changed of this.#changed.splice(0)) changed()
  }
}
