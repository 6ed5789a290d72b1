// One HTTP request and its answer, and the rules that the library leaves to code on top: a handler that throws, or
// neither answers nor listens for an abort, would end the process.
import { Problem } from '../api/errors.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { type Answer, commonHeaders, type Header, problemAnswer } from './headers.ts'
import type { UwsRequest, UwsResponse } from './uws.ts'

/** The headers that matter here; empty where absent. */
type RequestHeaders = {
  ifNoneMatch: string
  websocketKey: string
  websocketProtocol: string
  websocketExtensions: string
  lastEventId: string
  /** A body is announced, or its length is in doubt: after the answer nothing on this connection can be trusted. */
  hasBody: boolean
}

export class Exchange {
  readonly method: string
  readonly path: string
  /** Raw, without `?`. */
  readonly query: string
  readonly headers: RequestHeaders
  readonly #res: UwsResponse
  readonly #metrics: Metrics
  #over = false
  #gone: (() => void) | undefined
  /** The library corks the response only while its handler runs. */
  #corked = true

  private constructor(res: UwsResponse, req: UwsRequest, metrics: Metrics) {
    this.#res = res
    this.#metrics = metrics
    this.method = req.getMethod()
    this.path = req.getUrl()
    this.query = req.getQuery() ?? ''
    this.headers = readHeaders(req)
  }

  /**
   * Runs a handler for a request, at once if it can: a request pipelined behind a pending answer costs the client
   * its connection. What it throws becomes a problem; what is no Problem, a 500 and a line in the log.
   */
  static run(
    res: UwsResponse,
    req: UwsRequest,
    { metrics, log }: { metrics: Metrics; log: Logger },
    handler: (exchange: Exchange) => void | Promise<void>,
  ): void {
    const exchange = new Exchange(res, req, metrics)
    // First of all: a client may go while its answer is being written, and the library then ends the whole process if
    // nobody listens for that.
    exchange.#listenForAbort()
    try {
      handler(exchange)?.catch(error => exchange.#fail(error, log))
    } catch (error) {
      exchange.#fail(error, log)
    }
    exchange.#corked = false
  }

  #listenForAbort(): void {
    this.#res.onAborted(() => {
      this.#over = true
      this.#gone?.()
    })
  }

  /**
   * Answers; without effect once the client has gone. `close` ends the connection after it.
   * A request with a body is answered when the library has read what came with it: within the handler, a request
   * behind it would undo the closing and be served, wherever the first one really ended.
   */
  reply(answer: Answer, close = false): void {
    this.#metrics.edgePolls.inc(answer.status)
    if (this.headers.hasBody) setImmediate(() => this.#finish(() => this.#write(answer, true)))
    else this.#finish(() => this.#write(answer, close))
  }

  /** The client's, or its proxy's; empty once the client has gone. */
  get address(): string {
    return this.#over ? '' : Buffer.from(this.#res.getRemoteAddressAsText()).toString()
  }

  /** Lets the response become a WebSocket instead; without effect once the client has gone. */
  upgrade(upgrade: (res: UwsResponse) => void): void {
    this.#finish(() => upgrade(this.#res))
  }

  /** Lets the response stay open; `gone` is called when the client has gone. Without effect once it has. */
  stream(open: (res: UwsResponse) => void, gone: () => void): void {
    this.#finish(() => {
      this.#gone = gone
      open(this.#res)
    })
  }

  #finish(write: () => void): void {
    if (this.#over) return
    this.#over = true
    if (this.#corked) write()
    else this.#res.cork(write)
  }

  #write({ status, headers, body }: Answer, close: boolean): void {
    const res = this.#res.writeStatus(status).writeHeader(...joined(headers))
    if (body === null) res.endWithoutBody()
    else if (this.method !== 'head') res.end(body, close)
    // A HEAD that must be closed has an ambiguous framing anyway; it is told length 0.
    else if (close) res.end('', true)
    else res.writeHeader('Content-Length', String(body.length)).endWithoutBody()
  }

  #fail(error: unknown, log: Logger): void {
    if (!(error instanceof Problem)) log.error({ err: error }, 'edge: a request failed')
    this.reply(problemAnswer(error instanceof Problem ? error : new Problem('internal')))
  }
}

const joinedHeaders = new WeakMap<readonly Header[], Header>()

/**
 * The common headers and these as one, with all the others in its value: each call into the library costs as much as
 * everything else that is done here for a poll. Of an answer that is kept it is made once.
 */
function joined(headers: readonly Header[]): Header {
  let header = joinedHeaders.get(headers)
  if (header === undefined) {
    const [[name, value], ...others] = [...commonHeaders, ...headers] as [Header, ...Header[]]
    header = [name, [value, ...others.map(([name, value]) => `${name}: ${value}`)].join('\r\n')]
    joinedHeaders.set(headers, header)
  }
  return header
}

function readHeaders(req: UwsRequest): RequestHeaders {
  const headers = {
    ifNoneMatch: '',
    websocketKey: '',
    websocketProtocol: '',
    websocketExtensions: '',
    lastEventId: '',
    hasBody: false,
    contentLengths: 0,
  }
  reading = headers
  req.forEach(readHeader)
  return headers
}

/** Of the request whose headers are being read, which is over before another's are. */
let reading: RequestHeaders & { contentLengths: number }

function readHeader(name: string, value: string): void {
  const headers = reading
  if (name === 'if-none-match') headers.ifNoneMatch += headers.ifNoneMatch === '' ? value : `, ${value}`
  else if (name === 'sec-websocket-key') headers.websocketKey = value
  else if (name === 'sec-websocket-protocol') headers.websocketProtocol = value
  else if (name === 'sec-websocket-extensions') headers.websocketExtensions = value
  else if (name === 'last-event-id') headers.lastEventId = value
  else if (name === 'transfer-encoding') headers.hasBody = true
  else if (name === 'content-length' && (++headers.contentLengths > 1 || value !== '0'))
    headers.hasBody = true
}
