import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import type { Delivery } from '../../src/log/event-consumer.ts'
import { LogClock } from '../../src/projector/log-clock.ts'
import { ackTogether, Session } from '../../src/projector/session.ts'
import { realTimers, Ticks, type Timers } from '../../src/projector/ticks.ts'
import { metricOf, testLogger, until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { createWorld } from './harness.ts'

/** A session that is handed its events by the test, and told by it whether it is still pinned. */
async function create(context: TestContext, pinned: boolean, timers: Timers = realTimers) {
  const world = await createWorld(context)
  const { log, events } = world
  const acked: number[] = []
  const clock = new LogClock(() => performance.now())
  let fenced = 0
  const session = new Session({
    pin: 'pin',
    ...log.topology,
    bucket: new ChannelBucket(log.connection, 'this one'),
    events,
    ticks: new Ticks(clock, realTimers, async () => undefined),
    timers,
    log: testLogger,
    metrics: log.metrics,
    isPinned: async () => pinned,
    clock,
    fenced: () => {
      fenced++
      session.end()
    },
  })
  context.after(() => session.end())
  const receive = (sequence: number, event: object) => {
    const delivery: Delivery = {
      subject: 'event.one.now',
      sequence,
      timeMs: Date.now(),
      storedMs: Date.now(),
      clock: 'runs',
      data: Buffer.from(JSON.stringify(event)),
      pin: 'pin',
      pending: 0,
      ack: () => acked.push(sequence),
    }
    session.receive(delivery)
  }
  return { world, session, acked, receive, fencedTimes: () => fenced }
}

test('one that is refused and finds the values of another stands by, and acknowledges nothing more', async context => {
  const { world, acked, receive, fencedTimes } = await create(context, false)
  receive(1, pushOf('first'))
  await until('written', () => acked.includes(1))
  await new ChannelBucket(world.log.connection, 'another').append(
    { channelkey: 'two', json: '{"v":1,"event":2,"done":true,"prev":0}' },
    1,
  )
  receive(2, pushOf('second'))
  await until('fenced', () => fencedTimes() === 1)
  assert.deepEqual(acked, [1])
  assert.equal(await world.values(), 2)
  assert.equal(await metricOf(world.log.metrics.projectorActive), 0)
})

test('one that is refused but still pinned reads what is there and goes on', async context => {
  const { world, acked, receive, fencedTimes } = await create(context, true)
  await world.say('one', pushOf('first'))
  await world.say('one', pushOf('second'))
  receive(1, pushOf('first'))
  await until('written', () => acked.includes(1))
  await new ChannelBucket(world.log.connection, 'another').append(
    { channelkey: 'two', json: '{"v":1,"event":1,"done":true,"prev":0}' },
    1,
  )
  receive(2, pushOf('second'))
  await until('written', () => acked.includes(2))
  assert.equal(fencedTimes(), 0)
  assert.equal(await world.values(), 3)
})

test('an event is acknowledged only after its values, and many at once with one ack', async context => {
  const { world, session, acked, receive } = await create(context, true)
  const sequence = await world.say('one', pushOf('first'))
  receive(sequence, pushOf('first'))
  await until('written', () => acked.length === 1)
  world.nats.pause()
  for (let i = 1; i <= 300; i++) receive(sequence + i, pushOf(`song ${i}`))
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(acked, [sequence])
  world.nats.resume()
  await session.drained()
  assert.equal(acked.at(-1), sequence + 300)
  assert.ok(acked.length < 100, `${acked.length} acks`)
  assert.equal(await world.values(), 301)
})

test('what is done is acknowledged after a while, or when there is much of it', async context => {
  let ring: (() => void) | undefined
  const timers: Timers = { set: callback => (ring = callback), clear: () => undefined }
  const { world, acked, receive } = await create(context, true, timers)
  const written = (count: number) => until('written', async () => (await world.values()) === count)
  const say = async (from: number, to: number) => {
    for (let i = from; i <= to; i++) await world.say('one', pushOf(`song ${i}`))
    for (let i = from; i <= to; i++) receive(i, pushOf(`song ${i}`))
    await written(to)
  }
  await say(1, ackTogether - 1)
  await until('the timer is set', () => ring !== undefined)
  assert.deepEqual(acked, [])
  await say(ackTogether, ackTogether)
  // The last one's own value may not have been acknowledged by then.
  await until('acknowledged without the timer', () => (acked.at(-1) ?? 0) >= ackTogether - 1)
  const rung = (sequence: number) =>
    until(`acknowledged to ${sequence}`, () => {
      ring?.()
      return acked.at(-1) === sequence
    })
  await rung(ackTogether)
  await say(ackTogether + 1, ackTogether + 1)
  assert.equal(acked.at(-1), ackTogether)
  await rung(ackTogether + 1)
})
