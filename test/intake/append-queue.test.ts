import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppendQueue, type Place, spareLanes } from '../../src/intake/append-queue.ts'
import { LogUnavailable } from '../../src/log/connection.ts'
import { createMetrics } from '../../src/observe/metrics.ts'

const metrics = createMetrics()

/** Lets everything that is due happen. */
const settle = () => new Promise<void>(resolve => setImmediate(resolve))

/** Notes in `log` when the place gets its turn. */
function ask(place: Place, name: string, log: string[]): void {
  place.turn().then(
    () => log.push(name),
    () => log.push(`${name} too late`),
  )
}

test('one channel: one turn at a time, in the order of arrival, whoever is ready first (rule 11)', async () => {
  const queue = new AppendQueue({ metrics })
  const log: string[] = []
  const [first, second, third] = [queue.enter('a'), queue.enter('a'), queue.enter('a')]
  ask(third, 'third', log)
  ask(second, 'second', log)
  await settle()
  assert.deepEqual(log, [], 'the first one still looks up its token')
  ask(first, 'first', log)
  await settle()
  assert.deepEqual(log, ['first'])
  first.leave()
  await settle()
  assert.deepEqual(log, ['first', 'second'])
  second.leave()
  await settle()
  assert.deepEqual(log, ['first', 'second', 'third'])
  third.leave()
})

test('one that leaves without a turn holds up nobody', async () => {
  const queue = new AppendQueue({ metrics })
  const log: string[] = []
  const [first, second, third] = [queue.enter('a'), queue.enter('a'), queue.enter('a')]
  ask(third, 'third', log)
  second.leave()
  first.leave()
  await settle()
  assert.deepEqual(log, ['third'])
  third.leave()
})

test('empty lines are kept up to a limit; past it they go, and those in use stay', async () => {
  const queue = new AppendQueue({ metrics })
  const log: string[] = []
  const [first, second] = [queue.enter('busy'), queue.enter('busy')]
  // With two places held, four lines more.
  for (let i = 1; i < spareLanes + 4; i++) queue.enter(`channel${i}`).leave()
  assert.equal(queue.lanes, spareLanes + 4)
  queue.enter('one more').leave()
  assert.equal(queue.lanes, 1)
  ask(second, 'second', log)
  ask(queue.enter('busy'), 'third', log)
  first.leave()
  await settle()
  assert.deepEqual(log, ['second'])
})

test('channels do not wait for each other, up to the limit of appends in flight', async () => {
  const queue = new AppendQueue({ metrics, maxInFlight: 2 })
  const log: string[] = []
  const places = ['a', 'b', 'c'].map(key => {
    const place = queue.enter(key)
    ask(place, key, log)
    return place
  })
  await settle()
  assert.deepEqual(log, ['a', 'b'])
  places[1]?.leave()
  await settle()
  assert.deepEqual(log, ['a', 'b', 'c'])
  places[0]?.leave()
  places[2]?.leave()
})

test('those that are not known here take a few places only, and none of the others', async () => {
  const counted = createMetrics()
  const queue = new AppendQueue({ metrics: counted, maxWaiting: 4, maxDoubtful: 2 })
  const doubtful = [queue.enter('a', false), queue.enter('b', false)]
  assert.throws(() => queue.enter('c', false), { code: 'busy', retryAfter: 1 })
  assert.match(await counted.registry.metrics(), /intake_rejected_total\{limit="doubtful"\} 1/)
  const known = [queue.enter('a'), queue.enter('c')]
  doubtful[0]?.leave()
  const another = queue.enter('c', false)
  for (const place of [doubtful[1], another, ...known]) place?.leave()
  assert.match(await counted.registry.metrics(), /intake_waiting_pushes 0/)
})

test('at the limit of waiting pushes all may wait; one past it is refused at once', async () => {
  const counted = createMetrics()
  const queue = new AppendQueue({ metrics: counted, maxWaiting: 2 })
  const [first, second] = [queue.enter('a'), queue.enter('b')]
  assert.throws(() => queue.enter('a'), { code: 'busy', retryAfter: 1 })
  assert.match(await counted.registry.metrics(), /intake_rejected_total\{limit="waiting"\} 1/)
  first.leave()
  const third = queue.enter('a')
  assert.match(await counted.registry.metrics(), /intake_waiting_pushes 2/)
  second.leave()
  third.leave()
  assert.match(await counted.registry.metrics(), /intake_waiting_pushes 0/)
})

test('the deadline counts from arrival, over every wait; who is too late never gets a turn', async t => {
  // The deadline's timer alone keeps no process alive; in a service the sockets do.
  const alive = setInterval(() => undefined, 1_000)
  t.after(() => clearInterval(alive))
  const queue = new AppendQueue({ metrics, deadlineMs: 20 })
  const [first, second] = [queue.enter('a'), queue.enter('a')]
  await first.turn()
  await assert.rejects(second.turn(), LogUnavailable)
  second.leave()
  await assert.rejects(first.inTime(new Promise(() => undefined)), LogUnavailable)
  assert.equal(first.leftMs(), 0)
  first.leave()
  const next = queue.enter('a')
  await next.turn()
  assert.equal(await next.inTime(Promise.resolve('done')), 'done')
  next.leave()
})
