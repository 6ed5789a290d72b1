// Encoders that only speak Icecast or SHOUTcast (rule 30): their metadata update is a push by GET.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type FieldError, Problem } from '../api/errors.ts'
import type { QueryParameters } from '../domain/query.ts'
import { decodeUpdinfo } from '../domain/updinfo.ts'
import type { AcceptPush, Push } from './push.ts'
import { pushFrom } from './push-routes.ts'
import { readQuery, refuseListener } from './read-push.ts'
import { type App, refuseOtherMethods } from './server.ts'

type Credentials = Pick<Push, 'channelkey' | 'token'>
type ReadCredentials = (parameters: QueryParameters, authorization?: string) => Credentials

const success = `<?xml version="1.0"?>
<iceresponse><message>Metadata update successful</message><return>1</return></iceresponse>
`

export function addEncoderRoutes(app: App, accept: AcceptPush): void {
  const update = async (request: FastifyRequest, reply: FastifyReply, read: ReadCredentials) => {
    const parameters = readQuery(request.raw.url ?? '')
    requireUpdate(parameters)
    const credentials = read(parameters, request.headers.authorization)
    const push = pushFrom(request, credentials, facts => {
      refuseListener(parameters)
      return decodeUpdinfo(parameters, facts)
    })
    await accept(push).catch(error => {
      throw error instanceof Problem && error.code === 'wrong-token' ? askForToken(reply, error) : error
    })
    return reply.type('text/xml; charset=utf-8').send(success)
  }
  const options = { config: { push: true } }
  app.get('/admin/metadata', options, (request, reply) => update(request, reply, icecastCredentials))
  app.get('/admin.cgi', options, (request, reply) => update(request, reply, shoutcastCredentials))
  for (const url of ['/admin/metadata', '/admin.cgi']) refuseOtherMethods(app, url, ['GET'])
}

/** Their other commands (kick, statistics, …) are not for us, and an update without a title must not clear it. */
function requireUpdate(parameters: QueryParameters): void {
  const errors: FieldError[] = []
  if (parameters.get('mode')?.toString('latin1') !== 'updinfo') {
    errors.push({ field: 'mode', message: 'must be updinfo' })
  }
  if (!['song', 'title', 'artist'].some(name => parameters.has(name))) {
    errors.push({ field: 'song', message: 'is missing' })
  }
  if (errors.length > 0) throw new Problem('invalid', undefined, { errors })
}

/** Icecast: the channel is the mount, the token the password of whatever user. */
function icecastCredentials(parameters: QueryParameters, authorization = ''): Credentials {
  const channelkey = latin1(parameters, 'mount').replace(/^\//, '')
  const encoded = /^Basic +(?<encoded>\S+) *$/i.exec(authorization)?.groups?.['encoded']
  return { channelkey, token: afterColon(Buffer.from(encoded ?? '', 'base64').toString('latin1')) }
}

/** SHOUTcast: `pass` is `<channelkey>:<token>`. */
function shoutcastCredentials(parameters: QueryParameters): Credentials {
  const pass = latin1(parameters, 'pass')
  const [channelkey = ''] = pass.split(':', 1)
  return { channelkey, token: afterColon(pass) }
}

function latin1(parameters: QueryParameters, name: string): string {
  return parameters.get(name)?.toString('latin1') ?? ''
}

function afterColon(text: string): string | undefined {
  const at = text.indexOf(':')
  return at < 0 ? undefined : text.slice(at + 1)
}

/** These encoders know a wrong password as 401. */
function askForToken(reply: FastifyReply, { message }: Problem): Problem {
  reply.header('WWW-Authenticate', 'Basic realm="nownext"')
  return new Problem('unauthorized', message)
}
