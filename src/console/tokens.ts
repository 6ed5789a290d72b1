// The push tokens of the console's API: each is shown once, in the answer that made it.
import { Type } from 'typebox'
import { KeyParams, NewTokenAnswer, TokenAnswer, TokenBody, TokenParams } from '../api/console.ts'
import { Problem } from '../api/errors.ts'
import { generateToken } from '../domain/keys.ts'
import { toNfc } from '../domain/text.ts'
import type { Registry } from '../log/registry.ts'
import type { ApiApp, ConsoleParts } from './parts.ts'

export function tokenRoutes(app: ApiApp, { registry, tokens, writes, log }: ConsoleParts): void {
  app.get(
    '/channels/:key/tokens',
    { schema: { params: KeyParams, response: { 200: Type.Array(TokenAnswer) } } },
    async request => {
      const { key } = request.params
      await requireChannel(registry, key)
      return tokens.list(key)
    },
  )

  app.post(
    '/channels/:key/tokens',
    {
      schema: { params: KeyParams, body: TokenBody, response: { 201: NewTokenAnswer } },
      // Both members may be left out, so the body may be too.
      preValidation: async request => {
        request.body ??= {}
      },
    },
    async (request, reply) => {
      const { key } = request.params
      const { label = '', token = generateToken() } = request.body
      const { id } = await writes.run(async () => {
        await requireChannel(registry, key)
        return tokens.add(key, token, toNfc(label))
      })
      log.info({ channelkey: key, tokenId: id }, 'token added')
      return reply.code(201).send({ id, label, token })
    },
  )

  app.delete('/channels/:key/tokens/:id', { schema: { params: TokenParams } }, async (request, reply) => {
    const { key, id } = request.params
    await writes.run(async () => {
      await requireChannel(registry, key)
      if (!(await tokens.revoke(key, id))) throw new Problem('unknown-token')
    })
    log.info({ channelkey: key, tokenId: id }, 'token revoked')
    return reply.code(204).send()
  })
}

async function requireChannel(registry: Registry, key: string): Promise<void> {
  if ((await registry.findChannel(key)) === undefined) throw new Problem('unknown-channel')
}
