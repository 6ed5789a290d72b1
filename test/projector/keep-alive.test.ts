import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFolded, readValue } from '../../src/domain/value.ts'
import { Projector } from '../../src/projector/projector.ts'
import { metricOf, openLog, testLogger, until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { createWorld, type World } from './harness.ts'

/** A projector that takes the bucket for one that keeps a value so long. */
async function startWithRetention(world: World, retentionMs: number) {
  const own = await openLog(world.nats.url)
  const topology = { ...own.topology, retentionMs }
  const projector = new Projector({ ...own, topology, log: testLogger })
  await projector.start()
  return { ...own, stop: () => projector.stop().then(() => own.connection.close()) }
}

async function lastOf(world: World, channelkey: string) {
  const query = { last_by_subj: `$KV.channel.${channelkey}` }
  const message = await world.log.connection.jsm.streams.getMessage('KV_channel', query)
  return { sequence: message?.seq ?? 0, json: Buffer.from(message?.data ?? '').toString() }
}

test('a channel that is silent for half the retention is written again, unseen by listeners', async context => {
  const world = await createWorld(context)
  const first = await startWithRetention(world, 0)
  const event = await world.say('silent', pushOf('a'))
  await world.say('removed', pushOf('b'))
  await world.folded(await world.say('removed', { v: 1, kind: 'delete', revision: 5 }))
  await first.stop()
  const before = await lastOf(world, 'silent')
  const values = await world.values()
  // Time enough for a busy machine: the half of it must pass between two values of one channel.
  const { metrics, stop } = await startWithRetention(world, 2_000)
  context.after(stop)
  await until('active', async () => (await metricOf(metrics.projectorActive)) === 1)
  await until('written again', async () => (await world.values()) > values)
  const after = await lastOf(world, 'silent')
  const value = readValue(after.json)
  assert.deepEqual([value.event, value.done, value.prev, value.send], [event, true, before.sequence, []])
  assert.equal(JSON.parse(after.json).play, null)
  assert.deepEqual(readFolded(after.json).state, readFolded(before.json).state)
  assert.equal((await lastOf(world, 'removed')).json, '')
  await until('again and again', async () => (await lastOf(world, 'silent')).sequence > after.sequence)
  await world.folded(await world.say('silent', pushOf('c')))
  assert.equal(readFolded((await lastOf(world, 'silent')).json).state.now?.record.song, 'c')
})
