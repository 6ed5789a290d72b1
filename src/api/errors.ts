// The one catalogue of errors, as RFC 9457 problem details (rule 29). docs/errors.md is generated from it.

type CatalogueEntry = { status: number; title: string; explanation: string }

/** code → status, title, and what the reader of the documentation should know. Codes are stable. */
export const errorCatalogue = {
  invalid: {
    status: 400,
    title: 'Invalid request',
    explanation:
      'A field, parameter or key does not have the form that the specification asks for; `errors` names each, and `detail` says the same in one line.',
  },
  malformed: {
    status: 400,
    title: 'Malformed request',
    explanation:
      'The bytes are not a request that HTTP allows, or the body is not what its content type says.',
  },
  prefetch: {
    status: 400,
    title: 'Prefetch refused',
    explanation: 'A link preview or prefetch must not push (rule 3).',
  },
  unauthorized: {
    status: 401,
    title: 'Credentials required',
    explanation:
      'The console API wants `Authorization: Bearer <admin token>`; an update in the form of Icecast or SHOUTcast wants the push token as its password (rule 30).',
  },
  'wrong-token': {
    status: 403,
    title: 'Wrong push token',
    explanation: "The token is not one of this channel's.",
  },
  'unknown-channel': {
    status: 404,
    title: 'Unknown channel',
    explanation: 'No channel has this channelkey. Keys are case-sensitive.',
  },
  'unknown-station': {
    status: 404,
    title: 'Unknown station',
    explanation: 'No station has this stationkey. Keys are case-sensitive.',
  },
  'unknown-listener': {
    status: 404,
    title: 'Unknown listener',
    explanation:
      'No listener of this channel has this metaid: its stream has not started, or has ended (rule 18).',
  },
  'unknown-token': {
    status: 404,
    title: 'Unknown token id',
    explanation: 'The channel has no token of this id.',
  },
  'not-found': { status: 404, title: 'Not found', explanation: 'No such path.' },
  gone: {
    status: 410,
    title: 'Gone',
    explanation:
      'The old delivery protocol has ended (rule 32); the paths of spec 4.3 and 4.4 have all of it.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    explanation: 'The `Allow` header names the methods of this path.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    explanation: 'The change contradicts what is there, for example a station that still has channels.',
  },
  'too-large': {
    status: 413,
    title: 'Too large',
    explanation: 'The body is over 64 KiB, or the request head over 16 KiB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    explanation: 'A push body is JSON or a form (rule 9); that of the console is JSON.',
  },
  'too-many-pushes': {
    status: 429,
    title: 'Too many pushes',
    explanation: 'The channel is over its push rate (rule 12). `Retry-After` says when to try again.',
  },
  'too-many-wrong-tokens': {
    status: 429,
    title: 'Too many wrong tokens',
    explanation: 'This address sent too many wrong tokens within a minute (rule 12). Right ones still pass.',
  },
  'too-many-resumes': {
    status: 429,
    title: 'Resuming too often',
    explanation:
      'The same stream of events was resumed from the same position again and again, and left at once (rule 25). `Retry-After` says when to try again.',
  },
  'too-many-reads': {
    status: 429,
    title: 'Too many reads of the history',
    explanation:
      'As many pages of the history are being read as may be (rule 27). `Retry-After` says when to try again.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    explanation: 'A fault of the service; its log has more.',
  },
  unavailable: {
    status: 503,
    title: 'Log not available',
    explanation:
      'The push is not known to be stored. Send it again after `Retry-After`, with the same Idempotency-Key.',
  },
  busy: {
    status: 503,
    title: 'Busy',
    explanation: 'A limit of this process is reached. Try again after `Retry-After`.',
  },
  loading: {
    status: 503,
    title: 'Still loading',
    explanation: 'This edge has just started and has not read yet what this takes.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof errorCatalogue

/** A field at fault. */
export type FieldError = { field: string; message: string }

export type ProblemDetails = {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  errors?: FieldError[]
}

export const problemContentType = 'application/problem+json'

/**
 * The body of an error answer. Without a detail of its own it says what is wrong with each field, else what the
 * catalogue says. Never an `instance`: it would hold the token (rule 29).
 */
export function problemDetails(code: ErrorCode, detail?: string, errors: FieldError[] = []): ProblemDetails {
  const { status, title, explanation } = errorCatalogue[code]
  const problem = { type: `urn:nownext:error:${code}`, title, status }
  if (errors.length === 0) return { ...problem, detail: detail ?? explanation, code }
  const reasons = errors.map(({ field, message }) => `${field} ${message}`).join('; ')
  return { ...problem, detail: detail ?? `${reasons}.`, code, errors }
}

/** Thrown where a request cannot be served; the role that caught it answers with the problem. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: ErrorCode
  readonly details: ProblemDetails
  /** Seconds, for Retry-After. */
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, detail?: string, more: { errors?: FieldError[]; retryAfter?: number } = {}) {
    const details = problemDetails(code, detail, more.errors)
    super(details.detail)
    this.code = code
    this.details = details
    this.retryAfter = more.retryAfter
  }

  get status(): number {
    return this.details.status
  }
}
