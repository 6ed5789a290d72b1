// Every fault as a problem (rule 29).
import type { FastifyError, FastifyReply } from 'fastify'
import { type FieldError, Problem, problemContentType } from '../api/errors.ts'

/** Answers with the problem's details. */
export function answerProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfter !== undefined) reply.header('Retry-After', problem.retryAfter)
  // As bytes: to a text of JSON Fastify adds a charset, which the type does not have (RFC 9457).
  const body = Buffer.from(JSON.stringify(problem.details))
  return reply.code(problem.status).header('Content-Type', problemContentType).send(body)
}

/** The problem that an error stands for; undefined: a fault of our own. What the sender sent is not repeated: it may hold the token. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (!(error instanceof Error)) return undefined
  const { validation, code = '', statusCode = 500 } = error as Partial<FastifyError>
  if (validation !== undefined)
    return new Problem('invalid', undefined, { errors: validation.map(fieldError) })
  if (code === 'FST_ERR_BAD_URL') return new Problem('malformed', 'The path has an escape that is none.')
  if (code === 'ECONNRESET') return new Problem('malformed', 'The request was cut off.')
  if (statusCode === 413) return new Problem('too-large')
  if (statusCode === 415) return new Problem('unsupported-media-type')
  return statusCode >= 400 && statusCode < 500 ? new Problem('malformed') : undefined
}

type Validation = NonNullable<FastifyError['validation']>[number]

function fieldError({ instancePath, params, message = 'is invalid' }: Validation): FieldError {
  const path = instancePath.slice(1).replaceAll('/', '.')
  const missing = params['missingProperty']
  if (typeof missing !== 'string') return { field: path, message }
  return { field: path === '' ? missing : `${path}.${missing}`, message: 'is missing' }
}
