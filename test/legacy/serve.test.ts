// The role legacy in the program, beside the others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../edge/world.ts'
import { startService } from '../helpers/service.ts'
import { Player } from './world.ts'

test('a push reaches a player of the old protocol, and a shutdown tells it to come again', async () => {
  const service = await startService({
    roles: 'intake,projector,console,legacy',
    env: { NOWNEXT_LEGACY_PORT: '0', NOWNEXT_DRAIN: '0' },
  })
  try {
    const url = /"legacy_player_url":"(ws:[^"]+)"/.exec(service.output())?.[1] as `ws://${string}`
    await service.admin('PUT', '/stations/old', { name: 'Old' })
    const { body } = await service.admin('PUT', '/channels/old_1', { station: 'old', name: 'Old 1' })
    const player = new Player(url)
    for (const path of ['/metachannel/old_1', '/metastation/old']) await player.subscribe(path)
    await player.connect()
    const push = `${service.baseUrl}/metapush/old_1/${body.token}?artist=Artist&song=Song`
    assert.equal((await fetch(push)).status, 200)
    await until(() => player.got.length === 2)
    assert.deepEqual(player.said, ['/metachannel/old_1 now Song', '/metastation/old now Song'])
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text()
    assert.match(metrics, /^nownext_legacy_deliveries_total 2$/m)
    assert.equal(await service.stop(), 0)
    await until(() => player.disconnects.length === 1)
    assert.equal(player.disconnects[0]?.code, 1012)
  } finally {
    await service.stop()
  }
})
