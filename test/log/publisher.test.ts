import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { headers } from '@nats-io/transport-node'
import { connectLog, failureOf } from '../../src/log/connection.ts'
import type { Ack, Message } from '../../src/log/publisher.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { openLog, type TestLog, testLogger, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let log: TestLog

before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
})

after(async () => {
  await log.connection.close()
  await nats.stop()
})

afterEach(() => nats.resume())

function messageOf(payload: string, more: Record<string, string> = {}, rest: Partial<Message> = {}): Message {
  const head = headers()
  for (const [name, value] of Object.entries(more)) head.set(name, value)
  return { subject: 'event.channel.now', payload, headers: head, timeoutMs: 5_000, ...rest }
}

const publish = (message: Message): Promise<Ack> => log.connection.publisher.publish(message)

async function failureOfPublish(message: Message): Promise<string> {
  try {
    await publish(message)
  } catch (error) {
    return failureOf(error)
  }
  return 'stored'
}

test('what is published at once is stored in the order of the calls, each with an ack of its own', async () => {
  const count = 1_000
  const acks = await Promise.all(Array.from({ length: count }, (_, i) => publish(messageOf(`number ${i}`))))
  const [{ seq: first } = { seq: 0 }] = acks
  assert.deepEqual(
    acks,
    Array.from({ length: count }, (_, i) => ({ stream: 'EVENTS', seq: first + i, duplicate: false })),
  )
  const { streams } = log.connection.jsm
  for (const i of [0, 1, 7, 8, 9, count - 1]) {
    const stored = await streams.getMessage('EVENTS', { seq: first + i })
    assert.equal(stored?.string(), `number ${i}`)
  }
})

test('a message id that was there before is told as a duplicate', async () => {
  const first = await publish(messageOf('once', { 'Nats-Msg-Id': 'same' }))
  const second = await publish(messageOf('twice', { 'Nats-Msg-Id': 'same' }))
  assert.deepEqual(second, { ...first, duplicate: true })
})

test('one that the stream refuses, one without a stream and one too large leave the others alone', async () => {
  const [refused, nowhere, tooLarge, stored] = await Promise.all([
    failureOfPublish(messageOf('late', { 'Nats-Expected-Last-Sequence': '999999' })),
    failureOfPublish(messageOf('lost', {}, { subject: 'of.no.stream' })),
    failureOfPublish(messageOf('x'.repeat(1024 * 1024 + 1))),
    failureOfPublish(messageOf('good')),
  ])
  assert.deepEqual([refused, nowhere, tooLarge, stored], ['wrong sequence', 'no answer', 'refused', 'stored'])
})

test('without an answer it gives up after its time, and a late ack harms nobody', async () => {
  nats.pause()
  const startedMs = performance.now()
  assert.equal(await failureOfPublish(messageOf('unanswered', {}, { timeoutMs: 200 })), 'no answer')
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs >= 199 && tookMs < 3_000, `${tookMs} ms`)
  nats.resume()
  const { seq } = await publish(messageOf('answered'))
  const stored = await log.connection.jsm.streams.getMessage('EVENTS', { seq })
  assert.equal(stored?.string(), 'answered')
})

test('acks come again after a reconnect', async () => {
  await publish(messageOf('before'))
  await nats.restart()
  for (let failure = 'no answer'; failure !== 'stored'; ) {
    failure = await failureOfPublish(messageOf('after', {}, { timeoutMs: 200 }))
    assert.ok(failure === 'stored' || failure === 'no answer', failure)
  }
})

test('a server that takes the inbox away and gives it back: refused at once, then acknowledged again', async context => {
  const users = (more: string) => `authorization { users: [ { user: n, password: p${more} } ] }`
  const strict = await startNats({ more: users('') })
  context.after(() => strict.stop())
  const address = { url: strict.url, user: 'n', password: 'p' }
  const { publisher, close, jsm } = await connectLog(address, 'test', testLogger, createMetrics())
  context.after(close)
  await jsm.streams.add({ name: 'EVENTS', subjects: ['event.>'] })
  const attempt = () =>
    publisher.publish(messageOf('x', {}, { timeoutMs: 1_000 })).then(() => 'stored', failureOf)
  assert.equal(await attempt(), 'stored')
  strict.reconfigure(users(', permissions: { publish: ">", subscribe: { deny: ["_INBOX.>"] } }'))
  await until('it is denied', async () => (await attempt()) === 'no answer')
  strict.reconfigure(users(''))
  await until('it is allowed', async () => (await attempt()) === 'stored')
})

test('a closed connection ends what waits and refuses what comes', async () => {
  const { publisher, close } = await connectLog({ url: nats.url }, 'test', testLogger, createMetrics())
  await publisher.publish(messageOf('open'))
  nats.pause()
  const waiting = publisher.publish(messageOf('waiting')).catch(failureOf)
  await new Promise(resolve => setImmediate(resolve))
  await close()
  assert.equal(await waiting, 'closed')
  assert.equal(await publisher.publish(messageOf('late')).catch(failureOf), 'closed')
})
