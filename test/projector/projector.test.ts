import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { headers } from '@nats-io/transport-node'
import type { PushEvent } from '../../src/domain/event.ts'
import { readFolded } from '../../src/domain/value.ts'
import { createLog } from '../../src/observe/log.ts'
import { checkFold } from '../helpers/fold.ts'
import { metricOf, until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { createWorld, type World } from './harness.ts'

async function sayMany(world: World, count: number, prefix: string): Promise<number> {
  const said = Array.from({ length: count }, (_, i) => world.say(`channel${i % 7}`, pushOf(`${prefix} ${i}`)))
  return Math.max(...(await Promise.all(said)))
}

test('what was said before and while it runs is folded, one value a change', async context => {
  const world = await createWorld(context)
  await sayMany(world, 300, 'before')
  const { projector, metrics } = await world.startProjector()
  await world.folded(await sayMany(world, 300, 'after'))
  const checked = await checkFold(world.nats.url)
  assert.equal(checked.values, 600)
  assert.equal(projector.unready(), null)
  assert.equal(await metricOf(metrics.projectorValues), 600)
  assert.equal(await metricOf(metrics.projectorEvents, { kind: 'now' }), 600)
  assert.equal(await metricOf(metrics.projectorLag), 0)
})

test('a repeat, a next, a held push and a removal are folded as the reducer has them', async context => {
  const world = await createWorld(context)
  await world.startProjector()
  await world.say('one', pushOf('a'))
  await world.say('one', pushOf('a'))
  await world.say('one', pushOf('b', { kind: 'next' }))
  await world.say('one', pushOf('b'))
  await world.say('one', pushOf('held', { explicit: true, startMs: Date.now() + 20_000 }))
  await world.folded(await world.say('one', { v: 1, kind: 'delete', revision: 5 }))
  const beforeReturn = await world.values()
  await world.folded(await world.say('one', pushOf('an old one', { context: { revision: 4 } })))
  assert.equal(await world.values(), beforeReturn)
  await world.folded(await world.say('one', pushOf('new life', { context: { revision: 6 } })))
  const { lastEvent } = await checkFold(world.nats.url)
  const last = await world.log.connection.jsm.streams.getMessage('KV_channel', {
    last_by_subj: '$KV.channel.one',
  })
  const value = readFolded(Buffer.from(last?.data ?? '').toString())
  assert.deepEqual([value.prev, value.event, value.done], [0, lastEvent, true])
})

test('a removed channel stays removed for a projector that starts later', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  await world.say('one', pushOf('a'))
  await world.folded(await world.say('one', { v: 1, kind: 'delete', revision: 5 }))
  await first.projector.drain()
  const values = await world.values()
  await world.startProjector()
  await world.folded(await world.say('one', pushOf('an old one', { context: { revision: 4 } })))
  assert.equal(await world.values(), values)
  await world.folded(await world.say('one', pushOf('new life', { context: { revision: 6 } })))
  await checkFold(world.nats.url)
})

test('events that come again change nothing', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  const last = await sayMany(world, 100, 'song')
  await world.folded(last)
  await first.projector.drain()
  await first.kill()
  const values = await world.values()
  // Without its consumer the server knows nothing of what was acknowledged: all of it comes again.
  await world.log.connection.jsm.consumers.delete('EVENTS', 'projector')
  await world.startProjector()
  await world.folded(last)
  assert.equal(await world.values(), values)
  await world.folded(await world.say('channel1', pushOf('one more')))
  await checkFold(world.nats.url)
})

test('an event that acknowledgements jumped over is folded first', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  await world.folded(await sayMany(world, 20, 'song'))
  await first.projector.drain()
  await first.kill()
  // A power cut takes the newest values of the bucket, not the acknowledgements of their events.
  const { jsm } = world.log.connection
  const { config } = await jsm.streams.info('KV_channel')
  await jsm.streams.delete('KV_channel')
  await jsm.streams.add(config)
  await world.startProjector()
  await world.folded(await world.say('channel1', pushOf('one more')))
  const { values } = await checkFold(world.nats.url)
  assert.equal(values, 21)
})

test('an event with a value missing is folded again, which yields the rest', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  const startMs = Date.now() + 300
  await world.say('one', pushOf('now'))
  await world.folded(await world.say('one', pushOf('held', { explicit: true, startMs })))
  await first.projector.drain()
  await until('its start is over', () => Date.now() > startMs)
  // This event makes two values: the held push's start, and its own.
  const sequence = await world.say('one', pushOf('later'))
  const second = await world.startProjector()
  await world.folded(sequence)
  await second.projector.drain()
  const { jsm } = world.log.connection
  const info = await jsm.streams.info('KV_channel')
  const kept: Array<[string, Uint8Array]> = []
  for (let seq = 1; seq < info.state.last_seq; seq++) {
    const stored = await jsm.streams.getMessage('KV_channel', { seq })
    if (stored) kept.push([stored.subject, stored.data])
  }
  await jsm.streams.delete('KV_channel')
  await jsm.streams.add(info.config)
  for (const [subject, data] of kept) await world.log.connection.js.publish(subject, data)
  const last = kept.at(-1)
  assert.equal(readFolded(Buffer.from(last?.[1] ?? '').toString()).done, false)
  await world.startProjector()
  await world.folded(await world.say('two', pushOf('wake')))
  await checkFold(world.nats.url)
})

test('a late play is a line of the log, with the reason (rule 14)', async context => {
  const world = await createWorld(context)
  const lines: string[] = []
  const output = new Writable({
    write: (line, _encoding, done) => {
      lines.push(String(line))
      done()
    },
  })
  await world.startProjector(createLog('info', output))
  await world.say('one', pushOf('current'))
  const sequence = await world.say('one', pushOf('overtaken', { receivedMs: Date.now() - 5_000 }))
  await world.folded(sequence)
  const [late, ...more] = lines.map(line => JSON.parse(line)).filter(({ reason }) => reason === 'overtaken')
  assert.deepEqual(more, [])
  assert.equal(late.level, 'info')
  assert.deepEqual(
    [late.channelkey, late.sequence, late.artist, late.song],
    ['one', sequence, 'Artist', 'overtaken'],
  )
})

test('poison, malformed events and those of a later release are skipped and counted', async context => {
  const world = await createWorld(context)
  const { metrics, projector } = await world.startProjector()
  const { element: _, ...withoutElement } = pushOf('poison')
  await world.say('one', pushOf('before'))
  await world.say('one', withoutElement as PushEvent)
  await world.say('one', { ...pushOf('later release'), v: 2 } as unknown as PushEvent)
  await world.log.connection.js.publish('event.one.now', 'not JSON')
  await world.folded(await world.say('one', pushOf('after')))
  for (const reason of ['poisonous', 'version', 'malformed']) {
    assert.equal(await metricOf(metrics.projectorSkipped, { reason }), 1, reason)
  }
  assert.equal((await checkFold(world.nats.url)).values, 2)
  assert.equal(projector.unready(), null)
})

test('it goes on after a restart and after a kill of the server', async context => {
  const world = await createWorld(context)
  const { metrics } = await world.startProjector()
  await world.folded(await sayMany(world, 50, 'first'))
  await world.nats.restart()
  await world.folded(await sayMany(world, 50, 'second'))
  await world.nats.kill()
  await world.nats.restart()
  const last = await sayMany(world, 300, 'third')
  await world.folded(last)
  const { values } = await checkFold(world.nats.url)
  assert.equal(values, 400)
  assert.ok((await metricOf(metrics.projectorActive)) === 1)
})

test('a server that stands still and comes back makes no gap and no double', async context => {
  const world = await createWorld(context)
  const last = await sayMany(world, 1_500, 'song')
  const { metrics } = await world.startProjector()
  // In the middle of the backlog there are values on their way; past the time-out nobody knows what was stored.
  await until('writing', async () => (await metricOf(metrics.projectorValues)) > 0)
  world.nats.pause()
  await until('timed out', async () => (await metricOf(metrics.projectorReloads)) > 0)
  world.nats.resume()
  await world.folded(last)
  assert.equal((await checkFold(world.nats.url)).values, 1_500)
})

test('a bucket written to by hand does not stop it', async context => {
  const world = await createWorld(context)
  await world.startProjector()
  await world.folded(await world.say('one', pushOf('a')))
  const head = headers()
  head.set('KV-Operation', 'DEL')
  await world.log.connection.js.publish('$KV.channel.stranger', '', { headers: head })
  await world.folded(await world.say('one', pushOf('b')))
  assert.equal(await world.values(), 3)
})

test('a projector whose bucket is ahead of EVENTS does not fold, and says why', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  await world.folded(await sayMany(world, 10, 'song'))
  await first.kill()
  const { jsm } = world.log.connection
  const { config } = await jsm.streams.info('EVENTS')
  await jsm.streams.delete('EVENTS')
  await jsm.streams.add(config)
  const { projector } = await world.startProjector()
  await until('unready', () => /EVENTS ends before/.test(projector.unready() ?? ''))
})

test('a value that cannot be read stops its own channel only', async context => {
  const world = await createWorld(context)
  await world.log.connection.js.publish('$KV.channel.later', '{"v":2,"event":0,"done":true,"prev":0}')
  await world.log.connection.js.publish('$KV.channel.stranger', 'hello')
  const { metrics } = await world.startProjector()
  await world.say('later', pushOf('a'))
  await world.folded(await world.say('one', pushOf('b')))
  assert.equal(await world.values(), 3)
  assert.equal(await metricOf(metrics.projectorSkipped, { reason: 'poisonous' }), 1)
})

test('a consumer that another release made is brought to this one', async context => {
  const world = await createWorld(context)
  const { jsm } = world.log.connection
  const first = await world.startProjector()
  await first.kill()
  await jsm.consumers.update('EVENTS', 'projector', { max_ack_pending: 7 })
  await world.startProjector()
  await world.folded(await world.say('one', pushOf('a')))
  assert.equal((await jsm.consumers.info('EVENTS', 'projector')).config.max_ack_pending, 2_048)
})
