// Every error of the console as a problem (rule 29).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../api/errors.ts'
import { answerProblem, problemOf } from '../http/problems.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'

const retryAfterSeconds = 2

/** Answers with the problem that stands for an error; a fault of ours is logged. */
export function problemHandler({ log, metrics }: { log: Logger; metrics: Metrics }) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem =
      error instanceof LogUnavailable ? unavailable() : (problemOf(error) ?? new Problem('internal'))
    if (problem.code === 'too-large') metrics.consoleRejected.inc({ limit: 'body' })
    if (problem.code === 'internal')
      log.error({ method: request.method, route: request.routeOptions.url, err: error }, 'a request failed')
    if (problem.code === 'unauthorized') reply.header('WWW-Authenticate', 'Bearer realm="nownext"')
    return answerProblem(reply, problem)
  }
}

function unavailable(): Problem {
  const detail = 'The log does not answer; whether the change is stored is not known.'
  return new Problem('unavailable', detail, { retryAfter: retryAfterSeconds })
}
