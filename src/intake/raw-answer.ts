// Answers to what never became a request that the routes could take.
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Problem, problemContentType } from '../api/errors.ts'
import { letInHeader } from './let-in.ts'

/** On every answer of the intake (rule 2): none may be stored anywhere, and no address with a token may travel on. */
export const answerHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const

/** How long what the sender still sends is read and thrown away, so that a reset does not destroy the answer. */
const lingerMs = 1_000

/** Writes the problem to a connection whose request could not be read, and closes it. */
export function refuse(socket: Socket, problem: Problem): void {
  if (socket.destroyed) return
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.on('error', () => socket.destroy())
  socket.end(rawAnswer(problem))
  socket.resume()
  const linger = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('end', () => socket.destroySoon())
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

function rawAnswer(problem: Problem): string {
  const body = JSON.stringify(problem.details)
  const headers: Record<string, string | number> = {
    ...answerHeaders,
    // It may have been a hook.
    [letInHeader[0]]: letInHeader[1],
    'Content-Type': problemContentType,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  if (problem.retryAfter !== undefined) headers['Retry-After'] = problem.retryAfter
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}
