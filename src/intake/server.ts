// The intake's HTTP server: Fastify on node:http, behind the front that mends rude requests (rule 10). node:http,
// since encoders send what a stricter server refuses or destroys.
import {
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyRequest, fastify } from 'fastify'
import { Problem } from '../api/errors.ts'
import { maxPushBodyBytes } from '../api/push.ts'
import { answerProblem, problemOf } from '../http/problems.ts'
import { answerHeaders, noProxy, sendProblem, unreadable } from '../http/raw-answer.ts'
import { createHttpServer } from '../observe/http-server.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { readBody } from './body.ts'
import { Conversations, defaultMaxUnanswered } from './in-order.ts'
import { isHookTarget, letInHeader, refuseUnread } from './let-in.ts'
import { defaultMaxPending, type FrontOptions, maxMendedHeadBytes, RudeFront } from './rude-front.ts'

/** PEM texts. */
export type TlsKeys = { cert: string; key: string }

export type ServerOptions = {
  tls: TlsKeys | undefined
  metrics: Metrics
  log: Logger
  /** Whether answers close their connection. */
  draining(): boolean
  front?: Pick<FrontOptions, 'headTimeoutMs' | 'maxPending'>
  maxConnections: number
  /** Requests of one connection that have no answer yet. */
  maxUnanswered?: number
  /** From the first byte of a request to its last. */
  requestTimeoutMs?: number
}

export type IntakeServer = ReturnType<typeof createServer>
export type App = IntakeServer['app']

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answers count as pushes. */
    push?: boolean
  }
}

const httpOptions = { maxHeaderSize: maxMendedHeadBytes, allowHalfOpen: true }

const tooManyUnanswered = new Problem('busy', 'Too many requests of this connection wait for their answer.', {
  retryAfter: 1,
})

/** Routes may be added to `app`; `server` is to be listened on once `app` is ready. Throws on keys that are none. */
export function createServer(options: ServerOptions) {
  const { tls, metrics, log, draining } = options
  const conversations = new Conversations()
  const listen = (listener: RequestListener): Server => {
    const withHeaders = (next: RequestListener): RequestListener => {
      return (request, response) => {
        for (const [name, value] of Object.entries(answerHeaders)) response.setHeader(name, value)
        if (isHookTarget(request.url)) response.setHeader(...letInHeader)
        next(request, response)
      }
    }
    const refuseUnanswered = (_: IncomingMessage, response: ServerResponse) => {
      metrics.intakeRejected.inc({ limit: 'unanswered' })
      sendProblem(response, tooManyUnanswered)
    }
    const { maxUnanswered = defaultMaxUnanswered } = options
    const answer = conversations.inOrder(withHeaders(listener), maxUnanswered, withHeaders(refuseUnanswered))
    const { maxConnections, requestTimeoutMs } = options
    const bounds = { listener: 'intake', tls, maxConnections, requestTimeoutMs, metrics } as const
    const server = createHttpServer({ ...bounds, more: httpOptions }, answer)
    server.on(
      'connect',
      ({ socket }) => void conversations.answered(socket).then(() => refuseUnread(socket, noProxy)),
    )
    // An encoder that closes its half after the request gets its answer all the same. Node has no documented option.
    return Object.assign(server, { httpAllowHalfOpen: true })
  }
  const app = fastify({
    serverFactory: listen,
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: maxMendedHeadBytes,
      // The query is read from its bytes, never from a parsed string (rule 4).
      querystringParser: () => ({}),
    },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
    rewriteUrl: ({ url = '/' }) => originForm(url),
    frameworkErrors: (error, _request, reply) =>
      void answerProblem(reply, problemOf(error) ?? new Problem('malformed')),
    clientErrorHandler: (error, socket) => {
      const found = unreadable(error)
      if (found === undefined) return void socket.destroy()
      if (found.limit !== undefined) metrics.intakeRejected.inc({ limit: found.limit })
      void conversations.answered(socket).then(() => refuseUnread(socket, found.problem))
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => readBody(payload, maxPushBodyBytes, done))
  app.addHook('onRequest', (request, _reply, next) => next(faultBeforeBody(request)))
  app.addHook('onSend', (request, reply, _payload, next) => {
    if (draining()) reply.header('Connection', 'close')
    if (request.routeOptions.config.push) metrics.intakePushes.inc({ status: String(reply.statusCode) })
    if (reply.statusCode === 413) metrics.intakeRejected.inc({ limit: 'body' })
    next()
  })
  app.setNotFoundHandler((_request, reply) => answerProblem(reply, new Problem('not-found')))
  app.setErrorHandler((error, _request, reply) => {
    const problem = problemOf(error)
    // Only the stack: what else an error carries may hold the request, and so the token.
    if (problem === undefined)
      log.error({ stack: error instanceof Error ? error.stack : 'no error' }, 'a request failed')
    return answerProblem(reply, problem ?? new Problem('internal'))
  })
  const server = app.server as Server
  return {
    app,
    server,
    front: frontOf(server, tls !== undefined, {
      maxPending: maxPendingOf(options),
      ...options.front,
      metrics,
    }),
  }
}

/** Refuses every other method of a path, HEAD too: it must never push (rule 3). */
export function refuseOtherMethods(app: App, url: string, allowed: string[]): void {
  app.route({
    method: app.supportedMethods.filter(method => !allowed.includes(method)),
    url,
    onRequest: (request, reply, next) => {
      reply.header('Allow', allowed.join(', '))
      next(
        new Problem(
          'method-not-allowed',
          request.method === 'HEAD' ? 'HEAD never pushes (rule 3).' : undefined,
        ),
      )
    },
    handler: () => undefined,
  })
}

/** Who has said nothing yet may not take all connections: encoders that have something to say come in beside them. */
function maxPendingOf({ maxConnections }: Pick<ServerOptions, 'maxConnections'>): number {
  return Math.min(defaultMaxPending, Math.max(1, Math.floor(maxConnections / 2)))
}

/** Puts the front between the server's new connections and its parser. */
function frontOf(server: Server, isTls: boolean, options: Omit<FrontOptions, 'handOn'>): RudeFront {
  const event = isTls ? 'secureConnection' : 'connection'
  const [parse] = server.listeners(event)
  server.removeAllListeners(event)
  const front = new RudeFront({ ...options, handOn: socket => parse?.call(server, socket) })
  server.on(event, (socket: Socket) => front.take(socket))
  return front
}

/** An absolute-form target without its origin (RFC 9112 3.2.2). */
function originForm(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

function faultBeforeBody(request: FastifyRequest): Problem | undefined {
  if (request.is404) return new Problem('not-found')
  const { 'sec-purpose': secPurpose, purpose } = request.headers
  if (/prefetch/i.test(`${secPurpose} ${purpose}`)) return new Problem('prefetch')
  // Fastify would refuse an empty or odd one; it is judged by rule 9 alone, with contentTypeOf.
  delete request.raw.headers['content-type']
  return undefined
}

/** The Content-Type as sent. */
export function contentTypeOf({ raw }: FastifyRequest): string | undefined {
  return raw.headersDistinct['content-type']?.[0]
}
