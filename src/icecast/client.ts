// The requests to one mount of one Icecast.
import http from 'node:http'
import https from 'node:https'
import { type Mount, noCharset } from '../domain/mount.ts'
import type { Metrics } from '../observe/metrics.ts'
import { type IcecastAnswer, MountError, type Outcome, readSourceStart, readUpdate } from './answer.ts'
import { encodeTitle } from './title.ts'

/** Icecast 2.4 reads a request head into 4,096 bytes and drops the connection of a longer one. */
export const maxHeadBytes = 4094
/** A server that hangs holds back at most this many requests, all to itself. */
export const maxRequestsPerServer = 4
export const maxAnswerBytes = 1024 * 1024

/** The connections of all mounts: so many to each server. Each request has its own, since Icecast 2.4 keeps none. */
export type Connections = {
  readonly http: http.Agent
  readonly https: https.Agent
  /** Counts the requests under way, those that wait for their turn too. */
  readonly requests: Metrics['icecastRequests']
}

export function createConnections({ icecastRequests }: Pick<Metrics, 'icecastRequests'>): Connections {
  const options = { keepAlive: false, maxSockets: maxRequestsPerServer }
  return { http: new http.Agent(options), https: new https.Agent(options), requests: icecastRequests }
}

type Page = 'metadata' | 'metadata.xsl'

export class MountClient {
  readonly #mount: Mount
  readonly #connections: Connections
  readonly #timeoutMs: number
  readonly #base: URL
  readonly #headers: Record<string, string>
  /** Which of Icecast's two ways to give a title worked last. */
  #page: Page = 'metadata'
  /** A mount is asked one thing at a time. */
  #current: http.ClientRequest | undefined

  constructor(mount: Mount, connections: Connections, timeoutMs: number) {
    this.#mount = mount
    this.#connections = connections
    this.#timeoutMs = timeoutMs
    this.#base = new URL(mount.url)
    const credentials = Buffer.from(`${mount.user}:${mount.password}`).toString('base64')
    this.#headers = {
      Host: this.#base.host,
      Authorization: `Basic ${credentials}`,
      'User-Agent': 'nownext',
      Connection: 'close',
    }
  }

  /** Resolves once Icecast took the title. Throws a MountError. */
  async update(title: string): Promise<void> {
    if ((await this.#give(title, this.#page)) === 'taken') return
    // To the mount's own password, /admin/metadata listens only from the address of its source. The form of Icecast's
    // own pages does not look at the address.
    const other = this.#page === 'metadata' ? 'metadata.xsl' : 'metadata'
    this.#page = 'metadata'
    if ((await this.#give(title, other)) === 'not accepted') {
      throw new MountError(
        'the mount accepts no titles: its format has none, or only the admin may give them',
      )
    }
    this.#page = other
  }

  /** When the mount's source connected; undefined where the server does not tell. Throws a MountError. */
  async sourceStart(): Promise<string | undefined> {
    const { mount } = this.#mount
    return readSourceStart(await this.#get(this.#path('stats', `mount=${encodeURIComponent(mount)}`)), mount)
  }

  /** Breaks off what is under way. */
  stop(): void {
    this.#current?.destroy()
  }

  async #give(title: string, page: Page): Promise<Outcome> {
    const { mount, charset } = this.#mount
    const query = [`mode=updinfo&mount=${encodeURIComponent(mount)}`]
    if (charset !== noCharset) query.push(`charset=${encodeURIComponent(charset)}`)
    // `song` alone: an `artist` would stick to later titles in Icecast 2.4.
    const path = this.#path(page, `${query.join('&')}&song=`)
    const room = maxHeadBytes - this.#headLength(path)
    return readUpdate(await this.#get(path + encodeTitle(title, charset, room)))
  }

  #path(page: string, query: string): string {
    return `${this.#base.pathname.replace(/\/$/, '')}/admin/${page}?${query}`
  }

  #headLength(path: string): number {
    const lines = [`GET ${path} HTTP/1.1`, ...Object.entries(this.#headers).map(pair => pair.join(': '))]
    return lines.reduce((length, line) => length + line.length + 2, 2)
  }

  async #get(path: string): Promise<IcecastAnswer> {
    let timer: NodeJS.Timeout | undefined
    this.#connections.requests.inc()
    const { protocol } = this.#base
    const { request: open } = protocol === 'https:' ? https : http
    const agent = protocol === 'https:' ? this.#connections.https : this.#connections.http
    try {
      return await new Promise<IcecastAnswer>((resolve, reject) => {
        const request = open(this.#base, { path, headers: this.#headers, setHost: false, agent })
        this.#current = request
        timer = setTimeout(() => {
          reject(new MountError(`no answer within ${this.#timeoutMs / 1000} s`))
          request.destroy()
        }, this.#timeoutMs)
        request.on('error', reject)
        request.on('response', response => {
          readBody(response).then(body => resolve({ status: response.statusCode ?? 0, body }), reject)
        })
        request.end()
      })
    } catch (error) {
      throw asMountError(error)
    } finally {
      clearTimeout(timer)
      this.#connections.requests.dec()
    }
  }
}

function asMountError(error: unknown): MountError {
  if (error instanceof MountError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return new MountError(code === undefined ? message : `${describe(code)} (${code})`)
}

async function readBody(response: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length
    if (length > maxAnswerBytes) throw new MountError(`the server answers over ${maxAnswerBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function describe(code: string): string {
  const known: Record<string, string> = {
    ECONNREFUSED: 'nothing listens there',
    ENOTFOUND: 'no such host',
    EAI_AGAIN: 'the host name cannot be looked up now',
    ECONNRESET: 'the server closed the connection',
    EHOSTUNREACH: 'the host cannot be reached',
    ETIMEDOUT: 'the host does not answer',
  }
  return known[code] ?? 'the request failed'
}
