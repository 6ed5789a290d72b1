// The paths of the delivery service (spec 4.3, 4.4) and their query.
import { Problem } from '../api/errors.ts'
import { decodePosition } from '../log/position.ts'
import type { Asked } from './resume.ts'

export type Scope = 'channel' | 'station' | 'listener'

/** Which records are asked for (rules 21 and 24). */
export type Selection = 'now' | 'next' | 'all'

export type PollRoute = { scope: Scope; key: string; form: 'json' | 'txt' }
export type SocketRoute = { scope: Scope; key: string }

// Keys are plain ASCII (Keys): an escape is never decoded, it just is no part of any key.
const pollPath = /^\/metadata\/(channel|station|listener)\/([^/]+)\.(json|txt)$/
const streamPath = /^\/metadata\/sse\/(channel|station|listener)\/([^/]+)$/
const socketPath = /^\/metadata\/(channel|station|listener)\/([^/]+)$/

/** undefined: no such path (rule 20). The key is taken as it stands: whether it can be one is not asked here. */
export function pollRoute(path: string): PollRoute | undefined {
  const [, scope, key, form] = pollPath.exec(path) ?? []
  if (key === undefined || (scope === 'station' && form === 'txt')) return undefined
  return { scope: scope as Scope, key, form: form as 'json' | 'txt' }
}

/** undefined: no such path. */
export function socketRoute(path: string): SocketRoute | undefined {
  const [, scope, key] = socketPath.exec(path) ?? []
  return key === undefined ? undefined : { scope: scope as Scope, key }
}

/** A stream of server-sent events (rule 26); undefined: no such path. */
export function streamRoute(path: string): SocketRoute | undefined {
  const [, scope, key] = streamPath.exec(path) ?? []
  return key === undefined ? undefined : { scope: scope as Scope, key }
}

/** What a poll asks for; `now` by default. Throws a Problem on another value of `type` (rule 21). */
export function pollSelection(query: string, form: 'json' | 'txt'): Selection {
  if (query === '') return 'now'
  const type = last(new URLSearchParams(query), 'type') ?? 'now'
  // A text answer is one line about one record, so there is no text form of both (rule 22).
  if (type === 'now' || type === 'next' || (type === 'all' && form === 'json')) return type
  throw invalid('type', form === 'json' ? 'must be now, next or all' : 'must be now or next')
}

/** What a socket or a stream asks for; all by default, from now on. Throws a Problem on another `type` or a malformed `after` (rules 24 and 25). */
export function socketSelection(query: string): { selection: Selection; asked: Asked | null } {
  if (query === '') return { selection: 'all', asked: null }
  const parameters = new URLSearchParams(query)
  const type = last(parameters, 'type')
  if (type !== undefined && type !== 'now' && type !== 'next') throw invalid('type', 'must be now or next')
  const after = last(parameters, 'after')
  const place = after === undefined ? undefined : decodePosition(after)
  if (after !== undefined && place === undefined) throw invalid('after', 'is not a position')
  return {
    selection: type ?? 'all',
    asked: after === undefined || place === undefined ? null : { text: after, place },
  }
}

function last(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.getAll(name).at(-1)
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid', undefined, { errors: [{ field, message }] })
}
