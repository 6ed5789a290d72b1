// Every error of the console as a problem (rule 29), whatever it was that failed.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { consoleFormats } from '../api/console.ts'
import { type FieldError, Problem, problemContentType } from '../api/errors.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'

type AjvError = NonNullable<FastifyError['validation']>[number]

const retryAfterSeconds = 2

/** Answers with the problem that stands for an error; a fault of ours is logged. */
export function problemHandler({ log, metrics }: { log: Logger; metrics: Metrics }) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem = problemOf(error)
    if (problem.code === 'too-large') metrics.consoleRejected.inc({ limit: 'body' })
    if (problem.code === 'internal')
      log.error({ method: request.method, route: request.routeOptions.url, err: error }, 'a request failed')
    return sendProblem(reply, problem)
  }
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfter !== undefined) reply.header('Retry-After', problem.retryAfter)
  if (problem.code === 'unauthorized') reply.header('WWW-Authenticate', 'Bearer realm="nownext"')
  // As bytes: Fastify would add a charset, which this type does not have.
  const body = Buffer.from(JSON.stringify(problem.details))
  return reply.code(problem.status).header('Content-Type', problemContentType).send(body)
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof LogUnavailable)
    return new Problem('unavailable', 'The log does not answer; whether the change is stored is not known.', {
      retryAfter: retryAfterSeconds,
    })
  if (!(error instanceof Error)) return new Problem('internal')
  const { validation, code, statusCode } = error as FastifyError
  if (validation !== undefined) return new Problem('invalid', undefined, { errors: fieldErrors(validation) })
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Problem('too-large', 'The body is over 64 KiB.')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new Problem('unsupported-media-type', 'The console API takes application/json.')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new Problem('malformed', `The request cannot be read: ${error.message}`)
  return new Problem('internal')
}

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
