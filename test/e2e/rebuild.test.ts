// A rebuild of the running service: listeners of the channel that was shown wrongly get the right record, nobody else.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import { openLog, until } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'
import { runProgram, startService } from '../helpers/service.ts'

const nats = await startNats()
after(() => nats.stop())

test('a wrong record is put right for its listeners', async () => {
  const first = await startService({ natsUrl: nats.url, roles: 'intake,projector,console' })
  await first.admin('PUT', '/stations/s', { name: 'Station' })
  for (const key of ['right', 'wrong']) {
    const { body } = await first.admin('PUT', `/channels/${key}`, { station: 's', name: key })
    const answer = await fetch(`${first.baseUrl}/metapush/${key}/${body.token}?song=Song+of+${key}&artist=A`)
    assert.equal(answer.status, 200)
  }
  const { connection } = await openLog(nats.url)
  const streamOf = () => connection.jsm.streams.info('KV_channel')
  await until('both are shown', async () => (await streamOf()).state.messages === 2)
  assert.equal(await first.stop(), 0)
  // As an older release with another reducer would have left it.
  const query = { last_by_subj: '$KV.channel.wrong' }
  const value = await connection.jsm.streams.getMessage('KV_channel', query)
  const json = Buffer.from(value?.data ?? '')
    .toString()
    .replaceAll('Song of wrong', 'Something else')
  await new ChannelBucket(connection, 'an older release').append({ channelkey: 'wrong', json }, 2)

  const service = await startService({ natsUrl: nats.url, roles: 'projector,edge' })
  const seen: string[] = []
  const sockets = ['right', 'wrong'].map(key => {
    const socket = new WebSocket(`${service.wsUrl}/metadata/channel/${key}`)
    socket.on('message', data => seen.push(`${key}: ${JSON.parse(String(data)).song}`))
    return socket
  })
  await until('both snapshots', () => seen.length === 2)
  assert.deepEqual(seen.sort(), ['right: Song of right', 'wrong: Something else'])
  const { status, stdout, stderr } = await runProgram(['rebuild'], { NOWNEXT_NATS_URL: nats.url })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /1 channels put right: wrong/)
  await until('the right record', () => seen.includes('wrong: Song of wrong'))
  assert.equal(seen.length, 3)
  for (const socket of sockets) socket.terminate()
  await service.stop()
  await connection.close()
})
