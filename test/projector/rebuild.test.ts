import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { decodeRecord } from '../../src/domain/record.ts'
import { readFolded, readValue } from '../../src/domain/value.ts'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import { askRebuild, type RebuildReport } from '../../src/log/rebuild-calls.ts'
import { checkFold } from '../helpers/fold.ts'
import { metricOf, until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { createWorld, type World } from './harness.ts'

type Done = Extract<RebuildReport, { type: 'done' }>

async function rebuild(world: World): Promise<Done> {
  const report = await askRebuild(world.log.connection, () => undefined)
  assert.equal(report.type, 'done', JSON.stringify(report))
  return report as Done
}

async function lastValue(world: World, channelkey: string): Promise<string> {
  const query = { last_by_subj: `$KV.channel.${channelkey}` }
  const message = await world.log.connection.jsm.streams.getMessage('KV_channel', query)
  return Buffer.from(message?.data ?? '').toString()
}

async function shownSong(world: World, channelkey: string): Promise<string> {
  const { nowJson } = readValue(await lastValue(world, channelkey))
  return nowJson === null ? '' : decodeRecord(nowJson).song
}

/** Writes what an older reducer might have made of the channel's last event, as the only projector there is. */
async function spoil(world: World, channelkey: string, change: (json: string) => string): Promise<void> {
  const bucket = new ChannelBucket(world.log.connection, 'an older release')
  const last = (await world.log.connection.jsm.streams.info('KV_channel')).state.last_seq
  await bucket.append({ channelkey, json: change(await lastValue(world, channelkey)) }, last)
}

async function saySongs(world: World, count: number, channels: number, prefix = 'Song'): Promise<number> {
  let last = 0
  for (let i = 0; i < count; i++) last = await world.say(`channel${i % channels}`, pushOf(`${prefix} ${i}`))
  return last
}

async function createStopped(context: TestContext): Promise<World> {
  const world = await createWorld(context)
  const { projector, kill } = await world.startProjector()
  await world.folded(await saySongs(world, 40, 4))
  await projector.drain()
  await kill()
  return world
}

test('on a healthy log a rebuild changes nothing', async context => {
  const world = await createWorld(context)
  await world.startProjector()
  await saySongs(world, 60, 7)
  await world.say('one', pushOf('a', { element: { duration: 100 } }))
  await world.say('one', pushOf('b', { kind: 'next' }))
  await world.say('one', pushOf('held', { explicit: true, startMs: Date.now() + 25_000 }))
  await world.say('two', pushOf('hidden', { kind: 'next', context: { announceNext: false } }))
  await world.say('three', pushOf('gone'))
  await world.folded(await world.say('three', { v: 1, kind: 'delete', revision: 5 }))
  const values = await world.values()
  const done = await rebuild(world)
  assert.deepEqual(done.channelkeys, [])
  assert.ok(done.events >= 66)
  assert.equal(done.channels, 10, 'what only wakes a projector is no channel')
  assert.equal(await world.values(), values)
  await checkFold(world.nats.url)
})

test('a wrong record is put right, and only its channel is written anew', async context => {
  const world = await createStopped(context)
  await spoil(world, 'channel2', json => json.replaceAll('Song 38', 'Wrong'))
  await spoil(world, 'channel3', () => 'not a value')
  assert.equal(await shownSong(world, 'channel2'), 'Wrong')
  await world.startProjector()
  await world.folded(await world.say('other', pushOf('x')))
  const values = await world.values()
  const done = await rebuild(world)
  assert.deepEqual(done.channelkeys.sort(), ['channel2', 'channel3'])
  assert.equal(await world.values(), values + 2)
  const right = await lastValue(world, 'channel2')
  assert.deepEqual(readValue(right).send, ['now'])
  assert.equal(readFolded(right).state.now?.record.song, 'Song 38')
  assert.equal(await shownSong(world, 'channel3'), 'Song 39')
  assert.deepEqual((await rebuild(world)).channelkeys, [])
  await world.folded(await world.say('channel2', pushOf('after')))
  assert.equal(await shownSong(world, 'channel2'), 'after')
})

test('a next that was never said is taken back with its empty record', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  await world.say('one', pushOf('a'))
  await world.folded(await world.say('one', pushOf('b', { kind: 'next' })))
  const withNext = await lastValue(world, 'one')
  const withdrawn = await world.say('one', pushOf('', { kind: 'next', element: { artist: '' } }))
  await world.folded(withdrawn)
  await first.projector.drain()
  await first.kill()
  await spoil(world, 'one', () => withNext.replace(/"event":\d+/, `"event":${withdrawn}`))
  await world.startProjector()
  await world.folded(await world.say('other', pushOf('x')))
  assert.deepEqual((await rebuild(world)).channelkeys, ['one'])
  const value = readValue(await lastValue(world, 'one'))
  assert.deepEqual([value.send, value.nextIsEmpty], [['next'], true])
})

test('a rebuild while pushes come in writes only what was wrong before them', async context => {
  const world = await createStopped(context)
  await spoil(world, 'channel2', json => json.replaceAll('Song 38', 'Wrong'))
  const { projector } = await world.startProjector()
  await world.folded(await world.say('other', pushOf('x')))
  await until('it has caught up', () => projector.unready() === null)
  let more = true
  const pushing = (async () => {
    for (let i = 0; more; i++) await world.say(`channel${[0, 1, 3, 4][i % 4]}`, pushOf(`more ${i}`))
  })()
  for (let i = 0; i < 3; i++) {
    const { channelkeys } = await rebuild(world)
    assert.deepEqual(channelkeys, i === 0 ? ['channel2'] : [])
  }
  more = false
  await pushing
  await world.folded(await world.say('channel2', pushOf('after')))
  assert.deepEqual((await rebuild(world)).channelkeys, [])
})

test('a channel that speaks before it is compared is compared first', async context => {
  const world = await createStopped(context)
  for (let i = 0; i < 4; i++) await spoil(world, `channel${i}`, json => json.replaceAll('Artist', 'Wrong'))
  await world.startProjector()
  await world.folded(await world.say('other', pushOf('x')))
  const rebuilding = rebuild(world)
  const said = await Promise.all(
    Array.from({ length: 200 }, (_, i) => world.say(`channel${i % 4}`, pushOf(`during ${i}`))),
  )
  await rebuilding
  await world.folded(Math.max(...said))
  assert.deepEqual((await rebuild(world)).channelkeys, [])
  for (let i = 0; i < 4; i++) {
    const { state } = readFolded(await lastValue(world, `channel${i}`))
    assert.equal(state.now?.record.artist, 'Artist')
  }
})

test('a rebuild outlasts states that are read again, and a second one waits for its end', async context => {
  const world = await createStopped(context)
  await spoil(world, 'channel2', json => json.replaceAll('Song 38', 'Wrong'))
  const { metrics } = await world.startProjector()
  await world.folded(await world.say('other', pushOf('x')))
  const { connection } = world.log
  const answers: RebuildReport[] = []
  const ask = async () => void answers.push(await askRebuild(connection, () => undefined))
  const rebuilding = Promise.all([ask(), ask()])
  // Each value written by hand makes the next append of the projector a refused one.
  for (let i = 0; i < 20; i++) {
    await connection.js.publish('$KV.channel.byhand', '{}')
    await world.say(`channel${i % 2}`, pushOf(`more ${i}`))
  }
  await rebuilding
  const done = answers.filter(({ type }) => type === 'done')
  const refused = answers.filter(({ type }) => type === 'failed')
  assert.ok(done.length >= 1 && refused.every(({ ...a }) => 'reason' in a && /under way/.test(a.reason)))
  assert.ok((await metricOf(metrics.projectorReloads)) > 0)
  await world.folded(await world.say('other', pushOf('y')))
  await until('right', async () => (await shownSong(world, 'channel2')) === 'Song 38')
  await until('nothing more', async () => (await rebuild(world)).channelkeys.length === 0)
})

test('of a log that was cut, older channels are left alone and cut ones begin where they were', async context => {
  const world = await createStopped(context)
  await world.startProjector()
  const cut = await world.say('old', pushOf('the last of an old channel'))
  await world.say('channel0', pushOf('before the cut', { element: { id: 'given' }, given: ['id', 'song'] }))
  // A correction: what it leaves out comes from the play before the cut.
  const first = await world.say('channel0', {
    ...pushOf('before the cut', { element: { id: 'given', duration: 77, artist: '' } }),
    given: ['id', 'song', 'duration'],
  })
  await world.folded(await saySongs(world, 8, 3, 'later'))
  await world.log.connection.jsm.streams.purge('EVENTS', { seq: first })
  const values = await world.values()
  const done = await rebuild(world)
  assert.deepEqual(done.channelkeys, [])
  assert.equal(done.channels, 3)
  assert.equal(await world.values(), values)
  assert.equal(await shownSong(world, 'old'), 'the last of an old channel')
  assert.ok(cut < first)
})

test('without an active projector, asking fails and says so', async context => {
  const world = await createWorld(context)
  await assert.rejects(
    askRebuild(world.log.connection, () => undefined),
    /no projector runs/,
  )
})
