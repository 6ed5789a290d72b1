import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MountError } from '../../src/icecast/answer.ts'
import { defaultPace, MountSender, retryPauseMs } from '../../src/icecast/sender.ts'
import { until } from '../helpers/log.ts'

const quick = { lookMs: 30, firstRetryMs: 10, lastRetryMs: 40, random: () => 1 }

/** A sender to a mount that does what the test says, and what was told of it. */
function sending(t: TestContext, pace = quick) {
  const mount = {
    given: [] as string[],
    told: [] as string[],
    source: 'first' as string | undefined,
    looks: 0,
    answer: (_title: string): Promise<void> => Promise.resolve(),
    stopped: false,
  }
  const target = {
    update: async (title: string) => {
      mount.given.push(title)
      await mount.answer(title)
    },
    sourceStart: async () => {
      mount.looks++
      return mount.source
    },
    stop: () => {
      mount.stopped = true
    },
  }
  const sender = new MountSender(
    target,
    {
      taken: title => mount.told.push(`taken ${title}`),
      failed: reason => mount.told.push(`failed: ${reason}`),
      sourceChanged: () => mount.told.push('source changed'),
    },
    pace,
  )
  t.after(() => sender.stop())
  return { mount, sender }
}

/** A promise, and the function that fulfils it. */
function gate(): { passed: Promise<void>; open: () => void } {
  let open = (): void => undefined
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open }
}

const down = () => Promise.reject(new MountError('down'))

test('a title is given once', async t => {
  const { mount, sender } = sending(t)
  sender.show('a')
  await until('looked again', () => mount.looks > 3)
  assert.deepEqual(mount.given, ['a'])
  assert.deepEqual(mount.told, ['taken a'])
})

test('nothing is asked of a mount before there is a title', async t => {
  const { mount } = sending(t)
  const other = sending(t)
  other.sender.show('a')
  await until('the other one looked again', () => other.mount.looks > 3)
  assert.equal(mount.looks, 0)
})

test('of those that come while one is under way, only the newest', async t => {
  const { mount, sender } = sending(t)
  const slow = gate()
  mount.answer = () => slow.passed
  sender.show('a')
  await until('a is under way', () => mount.given.length === 1)
  sender.show('b')
  sender.show('c')
  slow.open()
  await until('c is taken', () => mount.told.includes('taken c'))
  assert.deepEqual(mount.given, ['a', 'c'])
})

test('of those that come while the mount fails, only the newest', async t => {
  const { mount, sender } = sending(t)
  mount.answer = down
  sender.show('a')
  await until('it failed twice', () => mount.told.length === 2)
  sender.show('b')
  sender.show('c')
  mount.answer = () => Promise.resolve()
  await until('c is taken', () => mount.told.includes('taken c'))
  assert.deepEqual([...new Set(mount.given)], ['a', 'c'])
})

test('a title that comes while the mount fails does not hurry the next attempt', async t => {
  const { mount, sender } = sending(t, { ...quick, firstRetryMs: 60_000, lastRetryMs: 60_000 })
  const other = sending(t)
  mount.answer = down
  sender.show('a')
  await until('it failed', () => mount.told.length === 1)
  for (let index = 0; index < 100; index++) sender.show(`title ${index}`)
  other.sender.show('a')
  await until('the other one looked again', () => other.mount.looks > 3)
  assert.deepEqual(mount.given, ['a'])
})

test('another source gets the title again', async t => {
  const { mount, sender } = sending(t)
  sender.show('a')
  await until('taken', () => mount.told.length === 1)
  mount.source = 'second'
  await until('taken again', () => mount.told.length === 3)
  assert.deepEqual(mount.told, ['taken a', 'source changed', 'taken a'])
})

test('a server that does not tell of its source gets the title all the same, once', async t => {
  const { mount, sender } = sending(t)
  mount.source = undefined
  sender.show('a')
  await until('looked again', () => mount.looks > 3)
  mount.source = 'told at last'
  const before = mount.looks
  await until('looked again', () => mount.looks > before + 2)
  assert.deepEqual(mount.told, ['taken a'])
})

test('after its end nothing is asked and nothing told', async t => {
  const { mount, sender } = sending(t)
  const slow = gate()
  mount.answer = () => slow.passed
  sender.show('a')
  await until('a is under way', () => mount.given.length === 1)
  sender.stop()
  sender.show('b')
  slow.open()
  await slow.passed
  assert.equal(mount.stopped, true)
  const other = sending(t)
  other.sender.show('a')
  await until('the other one looked again', () => other.mount.looks > 3)
  assert.deepEqual(mount.given, ['a'])
  assert.deepEqual(mount.told, [])
})

test('pauses double up to the last one, each spread over its upper half', () => {
  const at = (random: number) =>
    [1, 2, 3, 4, 5, 6, 50].map(failures => retryPauseMs(failures, { ...defaultPace, random: () => random }))
  assert.deepEqual(at(1), [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
  assert.deepEqual(at(0), [500, 1_000, 2_000, 4_000, 7_500, 7_500, 7_500])
})

test('by default a source that comes back has its title within 30 s, also when one request runs into its time-out', () => {
  const timeoutMs = 5_000
  assert.ok(Math.max(defaultPace.lookMs, defaultPace.lastRetryMs) + 2 * timeoutMs <= 30_000)
})
