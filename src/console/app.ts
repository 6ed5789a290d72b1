// The console's HTTP: the API under /api, and a page that says what this is.
import { METHODS, type RequestListener } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyReply } from 'fastify'
import { consoleFormats, maxConsoleBodyBytes } from '../api/console.ts'
import { Problem } from '../api/errors.ts'
import type { Tls } from '../config/tls.ts'
import { answerProblem, problemOf } from '../http/problems.ts'
import { answerHeaders, noProxy, refuse, unreadable } from '../http/raw-answer.ts'
import { createHttpServer } from '../observe/http-server.ts'
import { requireBearer } from './auth.ts'
import { channelRoutes } from './channels.ts'
import { historyRoutes } from './history.ts'
import type { ApiApp, ConsoleParts } from './parts.ts'
import { problemHandler } from './problems.ts'
import { stationRoutes } from './stations.ts'
import { tokenRoutes } from './tokens.ts'

const page = `nownext console

This is the operator's side of a nownext service. Its API is at /api and wants
"Authorization: Bearer <admin token>":

  /api/stations          /api/stations/<key>
  /api/channels          /api/channels/<key>
  /api/channels/<key>/tokens
  /api/channels/<key>/history.json, .csv; of a station likewise

The command line does the same: nownext --help
`

/** Operators are few; whoever holds connections without asking anything must not take the files of the others. */
const defaultMaxConnections = 256

export type ConsoleBounds = { maxConnections?: number; requestTimeoutMs?: number }

export function buildApp(
  parts: ConsoleParts,
  adminToken: string,
  tls: Tls | undefined,
  { maxConnections = defaultMaxConnections, requestTimeoutMs }: ConsoleBounds = {},
): ApiApp {
  const { metrics } = parts
  const bounds = { listener: 'console', tls, maxConnections, requestTimeoutMs, metrics } as const
  const app: ApiApp = fastify({
    serverFactory(handler) {
      const answer: RequestListener = (request, response) => {
        for (const [name, value] of Object.entries(answerHeaders)) response.setHeader(name, value)
        handler(request, response)
      }
      const server = createHttpServer(bounds, answer)
      server.on('connect', (_, socket) => refuse(socket, noProxy))
      return server
    },
    logger: false,
    bodyLimit: maxConsoleBodyBytes,
    routerOptions: { maxParamLength: 1024 },
    ajv: {
      customOptions: {
        allErrors: true,
        coerceTypes: false,
        // A mistyped member must be named, not dropped.
        removeAdditional: false,
        formats: Object.fromEntries(Object.entries(consoleFormats).map(([name, { test }]) => [name, test])),
      },
    },
    frameworkErrors: (error, _request, reply) =>
      void answerProblem(reply, problemOf(error) ?? new Problem('malformed')),
    clientErrorHandler(error, socket) {
      const found = unreadable(error)
      if (found === undefined) return void socket.destroy()
      if (found.limit !== undefined) metrics.consoleRejected.inc({ limit: found.limit })
      refuse(socket, found.problem)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(problemHandler(parts))
  app.setNotFoundHandler(notFound)
  const otherMethods = collectMethods(app)
  app.get('/', (_request, reply) => reply.type('text/plain; charset=utf-8').send(page))
  otherMethods()
  app.register(
    (api: ApiApp, _options, done) => {
      const otherApiMethods = collectMethods(api)
      // In here, and not by the path, so that no spelling of a path gets around it.
      api.addHook('onRequest', requireBearer(adminToken))
      api.setNotFoundHandler(notFound)
      stationRoutes(api, parts)
      channelRoutes(api, parts)
      tokenRoutes(api, parts)
      historyRoutes(api, parts)
      otherApiMethods()
      done()
    },
    { prefix: '/api' },
  )
  return app
}

/** Watches the routes of an app; the function returned gives each path a 405 for the methods that it lacks. */
function collectMethods(app: ApiApp): () => void {
  const byUrl = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ routePath, method }) => {
    const known = byUrl.get(routePath) ?? new Set<string>()
    for (const name of [method].flat()) known.add(name)
    byUrl.set(routePath, known)
  })
  return () => {
    for (const [url, known] of [...byUrl]) {
      const allow = [...known].sort().join(', ')
      app.route({
        method: app.supportedMethods.filter(method => !known.has(method)),
        url,
        // Before a body is read: of what type it is does not matter.
        onRequest: (_request, reply, next) => {
          reply.header('Allow', allow)
          next(new Problem('method-not-allowed', `Only ${allow}.`))
        },
        handler: () => undefined,
      })
    }
  }
}

function notFound(_request: unknown, reply: FastifyReply): FastifyReply {
  return answerProblem(reply, new Problem('not-found'))
}
