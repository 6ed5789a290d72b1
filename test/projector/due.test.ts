import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reduce } from '../../src/domain/now-next.ts'
import { initialState } from '../../src/domain/state.ts'
import { encodeValue, readFolded } from '../../src/domain/value.ts'
import { isQuiet } from '../../src/projector/channel-states.ts'
import { checkFold } from '../helpers/fold.ts'
import { metricOf, until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { createWorld, type World } from './harness.ts'

async function lastOf(world: World, channelkey: string) {
  const stored = await world.log.connection.jsm.streams.getMessage('KV_channel', {
    last_by_subj: `$KV.channel.${channelkey}`,
  })
  if (stored === null) return undefined
  const { state } = readFolded(Buffer.from(stored.data).toString())
  return { song: state.now?.record.song, shownMs: stored.time.getTime() }
}

test('a held push is shown at its start, though nothing else is said', async context => {
  const world = await createWorld(context)
  await world.startProjector()
  await world.say('one', pushOf('now'))
  const startMs = Date.now() + 800
  await world.folded(await world.say('one', pushOf('held', { explicit: true, startMs })))
  assert.equal((await lastOf(world, 'one'))?.song, 'now')
  await until('shown', async () => (await lastOf(world, 'one'))?.song === 'held')
  const shownMs = (await lastOf(world, 'one'))?.shownMs ?? 0
  assert.ok(shownMs >= startMs && shownMs < startMs + 250, `${shownMs - startMs} ms after its start`)
  await checkFold(world.nats.url)
})

test('what is due outlives the projector that held it', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  const fallback = { song: 'Radio', artist: 'Station', afterSeconds: 1, unknownAfterSeconds: 2 }
  await world.folded(await world.say('one', pushOf('now', { context: { fallback } })))
  await first.kill()
  const second = await world.startProjector()
  await until('the fallback is shown', async () => (await lastOf(world, 'one'))?.song === 'Radio')
  await until('done', async () => (await metricOf(second.metrics.projectorLag)) === 0)
  await checkFold(world.nats.url)
})

test('a value in which nothing is due is known without decoding, whatever a pusher wrote', () => {
  const tricky = '{"state":{"held":[],"next":null,"fallback":null},"x":[1]}'
  const fallback = { song: 'a', artist: 'b', afterSeconds: 1 }
  const cases = [
    { event: pushOf('plain'), quiet: true },
    { event: pushOf('extdata', { element: { extdata: tricky } }), quiet: true },
    { event: pushOf('fallback', { element: { extdata: tricky }, context: { fallback } }), quiet: false },
    { event: pushOf('next', { kind: 'next', element: { extdata: tricky } }), quiet: false },
    {
      event: pushOf('held', { explicit: true, startMs: Date.now() + 20_000, element: { extdata: tricky } }),
      quiet: false,
    },
    { event: pushOf('"held":[]"next":null"fallback":null', { context: { fallback } }), quiet: false },
  ]
  for (const { event, quiet } of cases) {
    const logged = { channelkey: 'one', sequence: 1, timeMs: event.receivedMs, event }
    const [change] = reduce(initialState, logged)
    assert.ok(change)
    const json = encodeValue(change, { event: 1, done: true, prev: 0 }, { now: 'n', next: 'x' })
    assert.equal(isQuiet(json), quiet, event.element.song)
  }
})
