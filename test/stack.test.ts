// Started in order, stopped in reverse, whatever happens.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createLog } from '../src/observe/log.ts'
import { Interrupted, type Part, Stack } from '../src/stack.ts'

let calls: string[] = []
let stack: Stack
beforeEach(() => {
  calls = []
  stack = new Stack(createLog('silent'))
})

function part(id: string, more: Partial<Part> = {}): Part {
  const call = (what: string) => async () => void calls.push(`${what} ${id}`)
  return { id, start: call('start'), drain: call('drain'), stop: call('stop'), ...more }
}

const fails = (reason: string) => async () => {
  throw new Error(reason)
}

test('the projector drains after what fed it, and everything stops in reverse', async () => {
  for (const id of ['nats-server', 'projector', 'edge']) await stack.start(part(id))
  stack.serving()
  calls = []
  await stack.shutdown()
  assert.deepEqual(calls, [
    'drain nats-server',
    'drain edge',
    'drain projector',
    'stop edge',
    'stop projector',
    'stop nats-server',
  ])
})

test('one that cannot start is stopped too, as are those before it', async () => {
  await stack.start(part('a'))
  await assert.rejects(stack.start(part('b', { start: fails('no') })), { message: 'no' })
  await stack.stop()
  assert.deepEqual(calls, ['start a', 'stop b', 'stop a'])
})

test('one that cannot stop does not keep the others', async () => {
  await stack.start(part('a'))
  await stack.start(part('b', { drain: fails('no'), stop: fails('no') }))
  stack.serving()
  await stack.shutdown()
  assert.deepEqual(calls, ['start a', 'start b', 'drain a', 'stop a'])
})

test('a shutdown during the start ends it: what starts right now is stopped, nothing more starts', async () => {
  let started = (): void => undefined
  const slow = part('b', { start: () => new Promise(resolve => (started = resolve)) })
  await stack.start(part('a'))
  const starting = stack.start(slow)
  await stack.shutdown()
  started()
  await assert.rejects(starting, Interrupted)
  await assert.rejects(stack.start(part('c')), Interrupted)
  assert.deepEqual(calls, ['start a', 'stop b', 'stop a'])
})

test('stopping twice is stopping once', async () => {
  await stack.start(part('a'))
  await Promise.all([stack.stop(), stack.shutdown(), stack.stop()])
  assert.deepEqual(calls, ['start a', 'stop a'])
})

test('it is ready when everything is, and says else why not', async () => {
  let reason: string | null = 'not caught up'
  await stack.start(part('edge', { unready: () => reason }))
  await stack.start(part('log', { unready: () => null }))
  assert.deepEqual(stack.reasons(), ['starting'])
  stack.serving()
  assert.deepEqual(stack.reasons(), ['edge: not caught up'])
  reason = null
  assert.deepEqual(stack.reasons(), [])
  const ended = stack.shutdown()
  assert.deepEqual(stack.reasons(), ['draining'])
  await ended
})
