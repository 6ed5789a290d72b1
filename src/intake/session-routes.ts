// The routes of a session: PUT and DELETE {base_url}/listener/<channelkey>/<token>/<metaid> (rule 28).
import type { FastifyRequest } from 'fastify'
import { SessionParams } from '../api/listener.ts'
import { begin, end, type Listener } from '../domain/listener.ts'
import type { Listeners } from '../log/listeners.ts'
import type { AppendQueue } from './append-queue.ts'
import { type Credentials, type CredentialsParts, isKnownHere, requireSender } from './push.ts'
import { readClient, readSession, requireMetaid } from './read-session.ts'
import { type App, contentTypeOf, refuseOtherMethods } from './server.ts'
import { inTurn } from './turn.ts'

export type SessionParts = CredentialsParts & {
  listeners: Pick<Listeners, 'change'>
  /** Lines by metaid: what is said of a listener is stored in order of arrival. */
  queue: AppendQueue
}

const url = '/listener/:channelkey/:token/:metaid'

export function addSessionRoutes(app: App, parts: SessionParts): void {
  const change = (credentials: Credentials, metaid: string, read: () => Step) => {
    const isKnown = isKnownHere(parts, credentials)
    return inTurn(parts.queue, metaid, isKnown, async place => {
      await requireSender(parts, credentials, isKnown, place)
      requireMetaid(metaid)
      const step = read()
      await place.turn()
      await place.inTime(parts.listeners.change(metaid, step))
    })
  }
  const schema = { params: SessionParams }
  app.put(url, { schema }, async (request, reply) => {
    const { channelkey, metaid } = request.params
    await change(credentialsOf(request, request.params), metaid, () => {
      const session = readSession(channelkey, bodyOf(request), contentTypeOf(request))
      return before => begin(before, session)
    })
    return reply.code(204).send()
  })
  app.delete(url, { schema }, async (request, reply) => {
    const { channelkey, metaid } = request.params
    await change(credentialsOf(request, request.params), metaid, () => {
      const client = readClient(request.raw.url ?? '')
      return before => end(before, channelkey, client)
    })
    return reply.code(204).send()
  })
  refuseOtherMethods(app, url, ['PUT', 'DELETE'])
}

type Step = (before: Listener | null) => Listener | null

function credentialsOf(request: FastifyRequest, params: Omit<Credentials, 'address'>): Credentials {
  return { channelkey: params.channelkey, token: params.token, address: request.ip }
}

/** What was sent, as bytes. */
export function bodyOf({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0)
}
