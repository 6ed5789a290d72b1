// Every fault of a request to a Fastify app as a problem (rule 29), whatever it was that failed.
import type { FastifyError, FastifyReply } from 'fastify'
import { consoleFormats } from '../api/console.ts'
import { type ErrorCode, type FieldError, Problem, problemContentType } from '../api/errors.ts'

/** Answers with the problem's details. */
export function answerProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfter !== undefined) reply.header('Retry-After', problem.retryAfter)
  // As bytes: to a text of JSON Fastify adds a charset, which the type does not have (RFC 9457).
  const body = Buffer.from(JSON.stringify(problem.details))
  return reply.code(problem.status).header('Content-Type', problemContentType).send(body)
}

/** Fastify's own errors, and that of a connection; the detail where the catalogue's explanation says too little. */
const known: Readonly<Record<string, { code: ErrorCode; detail?: string }>> = {
  FST_ERR_BAD_URL: { code: 'malformed', detail: 'The path has an escape that is none.' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'malformed', detail: 'A part of the path is too long.' },
  FST_ERR_NOT_FOUND: { code: 'not-found' },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'too-large' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 'unsupported-media-type' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed',
    detail: 'Content-Length is not that of the body.',
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'malformed', detail: 'The body is empty.' },
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'malformed', detail: 'The body is not JSON.' },
  ECONNRESET: { code: 'malformed', detail: 'The request was cut off.' },
}

/** The problem that an error stands for; undefined: a fault of our own. What the sender sent is not repeated: it may hold a secret. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (!(error instanceof Error)) return undefined
  const { validation, code = '', statusCode = 500 } = error as Partial<FastifyError>
  if (validation !== undefined) return new Problem('invalid', undefined, { errors: fieldErrors(validation) })
  const found = known[code]
  if (found !== undefined) return new Problem(found.code, found.detail)
  return statusCode >= 400 && statusCode < 500 ? new Problem('malformed') : undefined
}

type AjvError = NonNullable<FastifyError['validation']>[number]

/** Ajv's errors, one for each field. Of a field that may also be null, what it would have to be otherwise. */
function fieldErrors(validation: readonly AjvError[]): FieldError[] {
  const byField = new Map<string, FieldError>()
  for (const error of validation) {
    if (error.keyword === 'anyOf' || error.params['type'] === 'null') continue
    const found = fieldError(error)
    if (!byField.has(found.field)) byField.set(found.field, found)
  }
  return [...byField.values()]
}

function fieldError({ keyword, instancePath, params, message }: AjvError): FieldError {
  const parts = instancePath.split('/').slice(1)
  const field = (...more: unknown[]) => [...parts, ...more].join('.') || 'body'
  switch (keyword) {
    case 'required':
      return { field: field(params['missingProperty']), message: 'is missing' }
    case 'additionalProperties':
      return { field: field(params['additionalProperty']), message: 'is not a known field' }
    case 'enum':
      return { field: field(), message: `must be one of ${(params['allowedValues'] as string[]).join(', ')}` }
    case 'format':
      return { field: field(), message: `must be ${formatMessage(String(params['format']))}` }
    default:
      return { field: field(), message: message ?? 'is invalid' }
  }
}

function formatMessage(format: string): string {
  const known: Readonly<Record<string, { message: string }>> = consoleFormats
  return known[format]?.message ?? format
}
