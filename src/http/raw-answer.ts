// Answers to what never became a request that the routes could take.
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Problem, problemContentType } from '../api/errors.ts'

/** On every answer (rule 2): none may be stored anywhere, and no address with a token may travel on. */
export const answerHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const

type Headers = Record<string, string | number>

/** How long what the sender still sends is read and thrown away, so that a reset does not destroy the answer. */
const lingerMs = 1_000

/** Writes the problem to a connection whose request could not be read, and closes it. */
export function refuse(socket: Duplex, problem: Problem, headers: Headers = {}): void {
  if (socket.destroyed) return
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.on('error', () => socket.destroy())
  socket.end(rawAnswer(problem, headers))
  socket.resume()
  const linger = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('end', () => socket.end(() => socket.destroy()))
  socket.once('close', () => clearTimeout(linger))
}

/** Answers a request that no route sees. */
export function sendProblem(response: ServerResponse, problem: Problem): void {
  const body = JSON.stringify(problem.details)
  response.writeHead(problem.status, {
    'Content-Type': problemContentType,
    'Content-Length': Buffer.byteLength(body),
    ...(problem.retryAfter !== undefined && { 'Retry-After': problem.retryAfter }),
  })
  response.end(body)
}

function rawAnswer(problem: Problem, more: Headers): string {
  const body = JSON.stringify(problem.details)
  const headers: Headers = {
    ...answerHeaders,
    ...more,
    'Content-Type': problemContentType,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  if (problem.retryAfter !== undefined) headers['Retry-After'] = problem.retryAfter
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

/** What is wrong with bytes that the parser refused; undefined where nobody is left to tell. */
export function unreadable({ code, message }: NodeJS.ErrnoException): Unreadable | undefined {
  switch (code) {
    case 'ECONNRESET':
      return undefined
    case 'HPE_HEADER_OVERFLOW':
      return { problem: new Problem('too-large', 'The request head is too large.'), limit: 'head' }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        problem: new Problem('malformed', 'The request was not complete in time.'),
        limit: 'request-time',
      }
    default:
      return { problem: new Problem('malformed', `The bytes are not an HTTP request (${message}).`) }
  }
}

/** `limit`: the one that it is past. */
type Unreadable = { problem: Problem; limit?: 'head' | 'request-time' }

/** The answer to CONNECT, which asks for a proxy. */
export const noProxy = new Problem('malformed', 'This service is no proxy: it takes no CONNECT.')
