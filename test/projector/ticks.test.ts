import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogClock } from '../../src/projector/log-clock.ts'
import { Ticks } from '../../src/projector/ticks.ts'

type Timer = { atMs: number; callback: () => void }

/** A clock and timers that the test moves. */
class Time {
  nowMs = 0
  readonly #timers: Timer[] = []

  readonly timers = {
    set: (callback: () => void, delayMs: number) => {
      const timer = { atMs: this.nowMs + delayMs, callback }
      this.#timers.push(timer)
      return timer
    },
    clear: (timer: unknown) => {
      const index = this.#timers.indexOf(timer as Timer)
      if (index >= 0) this.#timers.splice(index, 1)
    },
  }

  async pass(toMs: number): Promise<void> {
    for (;;) {
      const [next] = this.#timers.sort((a, b) => a.atMs - b.atMs)
      if (next === undefined || next.atMs > toMs) break
      this.nowMs = next.atMs
      this.timers.clear(next)
      next.callback()
      await Promise.resolve()
    }
    this.nowMs = toMs
  }
}

type Sent = [number, string, string]

function create(): { time: Time; ticks: Ticks; sent: Sent[] } {
  const time = new Time()
  const clock = new LogClock(() => time.nowMs)
  clock.set(0)
  const sent: Sent[] = []
  const ticks = new Ticks(clock, time.timers, async (channelkey, id) => {
    sent.push([time.nowMs, channelkey, id])
  })
  return { time, ticks, sent }
}

test('a tick is sent when its channel is due, in order, under the same id for the same due thing', async () => {
  const { time, ticks, sent } = create()
  ticks.start()
  ticks.arm('late', 2_000)
  ticks.arm('soon', 1_000)
  ticks.arm('never', 1_500)
  ticks.arm('never', null)
  await time.pass(1_100)
  ticks.arm('soon', null)
  await time.pass(2_100)
  ticks.arm('late', null)
  await time.pass(60_000)
  assert.deepEqual(sent, [
    [1_002, 'soon', '~tick.soon.1000.0'],
    [2_002, 'late', '~tick.late.2000.0'],
  ])
})

test('nothing is sent before all that was said is folded', async () => {
  const { time, ticks, sent } = create()
  ticks.arm('one', 1_000)
  await time.pass(5_000)
  assert.deepEqual(sent, [])
  ticks.start()
  await time.pass(5_000)
  assert.equal(sent.length, 1)
})

test('a tick that changed nothing is sent again under another id', async () => {
  const { time, ticks, sent } = create()
  ticks.start()
  ticks.arm('one', 1_000)
  await time.pass(2_500)
  assert.deepEqual(
    sent.map(([, , id]) => id),
    ['~tick.one.1000.0', '~tick.one.1000.1'],
  )
})

test('an early tick is armed again for the difference', async () => {
  const { time, ticks, sent } = create()
  ticks.start()
  ticks.arm('one', 1_000)
  await time.pass(1_010)
  // By the log it came 40 ms too early, and the state still waits for the same thing.
  ticks.arm('one', 1_000, 960)
  await time.pass(1_100)
  assert.deepEqual(sent.at(-1), [1_052, 'one', '~tick.one.1000.1'])
})

test('another event of the channel does not send a tick twice', async () => {
  const { time, ticks, sent } = create()
  ticks.start()
  ticks.arm('one', 1_000)
  await time.pass(1_010)
  ticks.arm('one', 1_000)
  await time.pass(1_500)
  assert.equal(sent.length, 1)
})

test('a due time further away than a timer can wait', async () => {
  const { time, ticks, sent } = create()
  const monthMs = 30 * 86_400_000
  ticks.start()
  ticks.arm('one', monthMs)
  await time.pass(monthMs - 1)
  assert.equal(sent.length, 0)
  await time.pass(monthMs + 10)
  assert.equal(sent.length, 1)
})

test('at most 64 ticks are on their way, and the others follow', async () => {
  const time = new Time()
  const clock = new LogClock(() => time.nowMs)
  clock.set(0)
  const open: Array<() => void> = []
  const ticks = new Ticks(clock, time.timers, () => new Promise(resolve => open.push(resolve)))
  ticks.start()
  for (let i = 0; i < 65; i++) ticks.arm(`channel${i}`, 100)
  await time.pass(200)
  assert.equal(open.length, 64)
  open[0]?.()
  await new Promise(resolve => setImmediate(resolve))
  await time.pass(300)
  assert.equal(open.length, 65)
})

test('while time stands nothing is due; what fell due long ago is then settled one after the other', async () => {
  const { time, ticks, sent } = create()
  time.nowMs = 3_600_000
  ticks.stand(true)
  ticks.start()
  for (let i = 0; i < 300; i++) ticks.arm(`old${i}`, 1_000 + i)
  await time.pass(3_610_000)
  assert.equal(sent.length, 0)
  ticks.stand(false)
  ticks.arm('today', 3_610_500)
  await time.pass(3_611_000)
  const old = sent.filter(([, channelkey]) => channelkey !== 'today')
  assert.ok(old.length > 90 && old.length < 110, `${old.length} in the first second`)
  assert.ok(sent.some(([, channelkey]) => channelkey === 'today'))
  for (const [, channelkey] of old) ticks.arm(channelkey, null)
  await time.pass(3_614_000)
  assert.equal(new Set(sent.map(([, channelkey]) => channelkey)).size, 301)
})
