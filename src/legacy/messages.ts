// The messages of the nes protocol, version 2, as JSON texts.
import { STATUS_CODES } from 'node:http'
import { Problem } from '../api/errors.ts'

/** What a client may ask; anything else is refused. Of `auth` nothing is read: everybody may read. */
export type Request = {
  type: string
  /** The client's own; its answer bears it. */
  id: number | string
  version?: unknown
  path?: unknown
  subs?: unknown
}

/** Why a client's message is refused: a status as in HTTP, and the path at fault where there is one. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly path: string | undefined

  constructor(status: number, message: string, path?: string) {
    super(message)
    this.status = status
    this.path = path
  }
}

/** Throws a Refusal on anything that is no message. */
export function readRequest(text: string): Request {
  const request = parse(text)
  if (typeof request !== 'object' || request === null || typeof request['type'] !== 'string')
    throw new Refusal(400, 'Cannot parse message')
  const { id } = request
  if ((typeof id !== 'number' && typeof id !== 'string') || id === 0 || id === '')
    throw new Refusal(400, 'Message missing id')
  return request as Request
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** The answer to a request that was granted. */
export function answer({ type, id }: Request, more: object = {}): string {
  return JSON.stringify({ type, id, ...more })
}

/** The answer to one that was not; undefined where it could not even be read. */
export function refusal(request: Request | undefined, error: unknown): string {
  const { status, message, path } = asRefusal(error)
  return JSON.stringify({
    ...(request && { type: request.type, id: request.id }),
    ...(path !== undefined && { path }),
    statusCode: status,
    payload: { error: STATUS_CODES[status], message },
  })
}

/** Throws what is neither a Refusal nor a Problem: that is a fault of ours. */
export function asRefusal(error: unknown, path?: string): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof Problem) return new Refusal(error.status, error.message, path)
  throw error
}

export const ping = JSON.stringify({ type: 'ping' })

const closing = Buffer.from('}')

/** A record for the subscribers of a path. The record's own bytes are not touched. */
export function publication(path: string, record: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`{"type":"pub","path":${JSON.stringify(path)},"message":`),
    record,
    closing,
  ])
}

/** The server ends a subscription. */
export function revocation(path: string): string {
  return JSON.stringify({ type: 'revoke', path })
}
