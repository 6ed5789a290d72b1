// The routes of a push: GET and POST {base_url}/metapush/<channelkey>/<token> (spec 4.1, 4.2, rule 3).
import type { FastifyRequest } from 'fastify'
import { BearerPushParams, PushParams, PushResponse } from '../api/push.ts'
import { readContentType } from './content-type.ts'
import type { AcceptPush, Push } from './push.ts'
import { readParameters, readPost, readQuery } from './read-push.ts'
import { type App, contentTypeOf, refuseOtherMethods } from './server.ts'

const withToken = '/metapush/:channelkey/:token'
const withBearer = '/metapush/:channelkey'
const config = { push: true }
const response = { 200: PushResponse }

export function addPushRoutes(app: App, accept: AcceptPush): void {
  const inPath = { config, schema: { params: PushParams, response } }
  app.get(withToken, inPath, request => accept(byGet(request, request.params)))
  app.post(withToken, inPath, request => accept(byPost(request, request.params)))
  const inHeader = { config, schema: { params: BearerPushParams, response } }
  app.get(withBearer, inHeader, request => accept(byGet(request, bearer(request, request.params))))
  app.post(withBearer, inHeader, request => accept(byPost(request, bearer(request, request.params))))
  for (const url of [withToken, withBearer]) refuseOtherMethods(app, url, ['GET', 'POST'])
}

type Target = Pick<Push, 'channelkey' | 'token'>

function byGet(request: FastifyRequest, target: Target): Push {
  const { url = '' } = request.raw
  return pushFrom(request, target, facts => readParameters(readQuery(url), facts))
}

function byPost(request: FastifyRequest, target: Target): Push {
  const { url = '' } = request.raw
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const type = readContentType(contentTypeOf(request))
  return pushFrom(request, target, facts => readPost(url, body, type, facts))
}

/** A push with what every one has, whatever its form. */
export function pushFrom(
  request: FastifyRequest,
  { channelkey, token }: Target,
  decode: Push['decode'],
): Push {
  const key = request.headers['idempotency-key']
  const idempotencyKey = Array.isArray(key) ? key.join(',') : key
  // A sender that is gone has no address any more.
  const address: string | undefined = request.ip
  return { channelkey, token, address: address ?? '', idempotencyKey, decode }
}

function bearer(request: FastifyRequest, { channelkey }: { channelkey: string }): Target {
  const token = /^Bearer +(?<token>\S+) *$/i.exec(request.headers.authorization ?? '')?.groups?.['token']
  return { channelkey, token }
}
