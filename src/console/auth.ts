// The admin token of the console's API.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../api/errors.ts'

/** A hook that lets only `Authorization: Bearer <admin token>` pass; else it throws the problem for 401. */
export function requireBearer(adminToken: string): (request: FastifyRequest) => Promise<void> {
  const wanted = digest(adminToken)
  return async request => {
    const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (given === undefined) throw new Problem('unauthorized')
    // Digests have one length, so the comparison takes the same time for every token.
    if (!timingSafeEqual(digest(given), wanted))
      throw new Problem('unauthorized', 'The admin token is wrong.')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
