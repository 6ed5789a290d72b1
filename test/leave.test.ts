// --leave: load balancers hear of the end before clients do.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from './helpers/log.ts'
import { startService } from './helpers/service.ts'

test('a process that is to end says so first, and serves on for the time of --leave', async () => {
  const service = await startService({ args: ['--leave', '2'] })
  service.signal('SIGTERM')
  await until('not ready', async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  const poll = await fetch(`${service.apiUrl}/metadata/channel/unknown.json`)
  assert.equal(poll.status, 404, 'not 503: it does not drain yet')
  const push = await fetch(`${service.baseUrl}/metapush/unknown/token`)
  assert.equal(push.status, 404)
  assert.equal(await service.exited, 0)
  await service.stop()
})
