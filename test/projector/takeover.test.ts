import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { ChannelBucket, WrongSequence } from '../../src/log/channel-bucket.ts'
import { checkFold } from '../helpers/fold.ts'
import { metricOf, until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { inRoot } from '../helpers/root.ts'
import { createWorld, type RunningProjector } from './harness.ts'

const childFile = inRoot('test/projector/child.ts')

/** The one that is active, and the other. */
async function sides(
  a: RunningProjector,
  b: RunningProjector,
): Promise<[RunningProjector, RunningProjector]> {
  await until('one active', async () => (await a.isActive()) !== (await b.isActive()))
  return (await a.isActive()) ? [a, b] : [b, a]
}

test('an append behind another sequence than the last is refused', async context => {
  const world = await createWorld(context)
  const bucket = new ChannelBucket(world.log.connection, 'a')
  const zombie = new ChannelBucket(world.log.connection, 'b')
  const value = { channelkey: 'one', json: '{}' }
  await bucket.append(value, 0)
  await assert.rejects(zombie.append(value, 0), WrongSequence)
  await bucket.append(value, 1)
  // Many at once: what follows a refused one is refused too.
  const results = await Promise.allSettled([1, 2, 3].map(last => zombie.append(value, last)))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
})

test('one is active and the other stands by, ready', async context => {
  const world = await createWorld(context)
  const [active, standBy] = await sides(await world.startProjector(), await world.startProjector())
  await world.folded(await world.say('one', pushOf('song')))
  assert.equal(standBy.projector.unready(), null)
  assert.equal(active.projector.unready(), null)
})

test('the active one is stopped abruptly under load: the other goes on, and nothing is lost or doubled', async context => {
  const world = await createWorld(context)
  const [active, standBy] = await sides(await world.startProjector(), await world.startProjector())
  let speaking = true
  let last = 0
  const speak = (async () => {
    for (let i = 0; speaking; i++) last = await world.say(`channel${i % 5}`, pushOf(`song ${i}`))
  })()
  await until('some folded', async () => (await metricOf(active.metrics.projectorValues)) > 100)
  await active.kill()
  const killedMs = performance.now()
  await until('taken over', async () => (await metricOf(standBy.metrics.projectorValues)) > 100)
  const tookMs = performance.now() - killedMs
  speaking = false
  await speak
  await world.folded(last)
  await checkFold(world.nats.url)
  assert.ok(tookMs < 5_000, `${tookMs} ms`)
})

test('one that drains gives the pin back, and the other takes over before it would have lapsed', async context => {
  const world = await createWorld(context)
  const [active, standBy] = await sides(await world.startProjector(), await world.startProjector())
  await world.folded(await world.say('one', pushOf('first')))
  await active.projector.drain()
  const drainedMs = performance.now()
  await world.folded(await world.say('one', pushOf('second')))
  assert.ok(performance.now() - drainedMs < 1_000)
  assert.ok(await standBy.isActive())
  await checkFold(world.nats.url)
})

test('one whose pin passed on unseen stands by, and takes over again when the other is gone', async context => {
  const world = await createWorld(context)
  const first = await world.startProjector()
  await world.folded(await world.say('one', pushOf('first')))
  const second = await world.startProjector()
  await world.log.connection.jsm.consumers.unpin('EVENTS', 'projector', 'projector')
  const [active, standBy] = await sides(first, second)
  await world.folded(await world.say('one', pushOf('second')))
  await active.kill()
  await world.folded(await world.say('one', pushOf('third')))
  assert.ok(await standBy.isActive())
  await checkFold(world.nats.url)
})

test('a zombie that slept in the middle of writing is fenced, and stands by', async context => {
  const world = await createWorld(context)
  const zombie = spawn(process.execPath, ['--import', 'tsx', childFile, world.nats.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  context.after(() => zombie.kill('SIGKILL'))
  const said: string[] = []
  createInterface({ input: zombie.stdout }).on('line', line => said.push(line))
  await until('the zombie is active', () => said.includes('active'))
  let speaking = true
  let last = 0
  const speak = (async () => {
    for (let i = 0; speaking; i++) {
      last = Math.max(
        ...(await Promise.all([1, 2, 3, 4].map(n => world.say(`channel${n}`, pushOf(`${n} ${i}`))))),
      )
    }
  })()
  await until('it writes', async () => (await world.values()) > 100)
  zombie.kill('SIGSTOP')
  const other = await world.startProjector()
  await until('taken over', async () => (await metricOf(other.metrics.projectorValues)) > 100)
  zombie.kill('SIGCONT')
  await until('the zombie stands by', () => said.at(-1) === 'standing by')
  speaking = false
  await speak
  await world.folded(last)
  await checkFold(world.nats.url)
  assert.ok(await other.isActive())
})

test('where nothing is said, somebody becomes active all the same, and takes over too', async context => {
  const world = await createWorld(context)
  const [active, standBy] = await sides(await world.startProjector(), await world.startProjector())
  await active.kill()
  await until('taken over', standBy.isActive)
  assert.equal(await world.values(), 0)
})
