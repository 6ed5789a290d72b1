// The route of Icecast's URL-auth hooks: POST {base_url}/icecast/<channelkey>/<token> (rule 28). Its answer decides
// whether a listener hears anything: the server puts the header that lets in on whatever is answered here.
import { Problem } from '../api/errors.ts'
import { PushParams } from '../api/push.ts'
import { readHook } from '../domain/icecast-hook.ts'
import type { Hooks } from './hooks.ts'
import { type App, refuseOtherMethods } from './server.ts'
import { bodyOf } from './session-routes.ts'

const url = '/icecast/:channelkey/:token'

export function addHookRoutes(app: App, hooks: Hooks): void {
  app.post(url, { schema: { params: PushParams } }, (request, reply) => {
    const { channelkey, token } = request.params
    const standing = hooks.standing(channelkey, token)
    const hook = readHook(bodyOf(request))
    if (hook !== null) hooks.take(channelkey, token, hook, standing === 'right')
    if (standing === 'unknown channel') throw new Problem('unknown-channel')
    if (standing === 'wrong token') throw new Problem('wrong-token')
    return reply.send()
  })
  refuseOtherMethods(app, url, ['POST'])
}
