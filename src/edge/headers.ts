// Answers and their headers (rules 20, 23 and 29).
import { type Problem, problemContentType } from '../api/errors.ts'

export type Header = readonly [name: string, value: string]

/** `body` null: none at all (204, 304). */
export type Answer = { status: string; headers: readonly Header[]; body: Uint8Array | null }

/** On every answer, errors too (rule 23). No pushed text ever stands in a header: the library passes CR and LF on. */
export const commonHeaders: readonly Header[] = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'ETag, Link, Retry-After'],
  ['Cross-Origin-Resource-Policy', 'cross-origin'],
  ['X-Content-Type-Options', 'nosniff'],
]

const methods = 'GET, HEAD, OPTIONS'
const noStore: Header = ['Cache-Control', 'no-store']
/** One second, as often as anybody should poll. */
const shared: Header = ['Cache-Control', 'public, max-age=1']
/** Of a listener's records no cache may keep anything. */
export const personal: Header = ['Cache-Control', 'private, no-store']

/** To OPTIONS on any path. `*` does not stand for Authorization, so that is named. */
export const preflight: Answer = {
  status: '204 No Content',
  headers: [
    ['Allow', methods],
    ['Access-Control-Allow-Methods', methods],
    ['Access-Control-Allow-Headers', '*, Authorization'],
    ['Access-Control-Max-Age', '86400'],
    noStore,
  ],
  body: null,
}

/** Known, but nothing to show (rule 20). */
export const nothing: Answer = { status: '204 No Content', headers: [noStore], body: null }

/** What a poll is answered with: bytes and the strong ETag made from them. */
export type Representation = {
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly etag: string
  /** Those that caches may share: polled again and again, they are made once. */
  answers: Answers | null
}

type Answers = { readonly whole: Answer; readonly notModified: Answer }

/** 200, or 304 where the client has these very bytes (rule 23). */
export function represent(
  representation: Representation,
  ifNoneMatch: string,
  caching: Header = shared,
): Answer {
  const { whole, notModified } = answersOf(representation, caching)
  return ifNoneMatch !== '' && matches(ifNoneMatch, representation.etag) ? notModified : whole
}

function answersOf(representation: Representation, caching: Header): Answers {
  if (caching !== shared) return makeAnswers(representation, caching)
  representation.answers ??= makeAnswers(representation, caching)
  return representation.answers
}

function makeAnswers({ contentType, bytes, etag }: Representation, caching: Header): Answers {
  const validators: Header[] = [['ETag', etag], caching]
  return {
    whole: {
      status: '200 OK',
      headers: [['Content-Type', contentType] as const, ...validators],
      body: bytes,
    },
    notModified: { status: '304 Not Modified', headers: validators, body: null },
  }
}

/** If-None-Match compares weakly: W/ is looked through (RFC 9110, 13.1.2). */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag) return true
  return ifNoneMatch.trim() === '*' || (ifNoneMatch.match(/"[^"]*"/g)?.includes(etag) ?? false)
}

const reasons: Record<number, string> = {
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** An error as problem details (rule 29). */
export function problemAnswer(problem: Problem): Answer {
  const headers: Header[] = [['Content-Type', problemContentType], noStore]
  if (problem.code === 'method-not-allowed') headers.push(['Allow', methods])
  if (problem.retryAfter !== undefined) headers.push(['Retry-After', String(problem.retryAfter)])
  return {
    status: `${problem.status} ${reasons[problem.status] ?? ''}`,
    headers,
    body: Buffer.from(JSON.stringify(problem.details)),
  }
}
