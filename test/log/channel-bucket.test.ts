// What a projector loads: the last value of every key, and where its fence is to stand.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { openLog, type TestLog } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let log: TestLog
let bucket: ChannelBucket

before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
  bucket = new ChannelBucket(log.connection, 'test')
})
after(async () => {
  await log.connection.close()
  await nats.stop()
})

async function load(): Promise<{ keys: string[]; last: number }> {
  const keys: string[] = []
  const last = await bucket.load(({ channelkey }) => keys.push(channelkey), new AbortController().signal)
  return { keys, last }
}

test('the last value of every key, in their order; and the last sequence, whether its value is still there or not', async () => {
  assert.deepEqual(await load(), { keys: [], last: 0 })
  for (const [index, channelkey] of ['a', 'b', 'a', 'c'].entries())
    await bucket.append({ channelkey, json: `{"v":1,"n":${index}}` }, index)
  assert.deepEqual(await load(), { keys: ['b', 'a', 'c'], last: 4 })
  // By hand: it is not a replica that is behind, and must hold up nobody.
  await log.connection.jsm.streams.deleteMessage('KV_channel', 4)
  assert.deepEqual(await load(), { keys: ['b', 'a'], last: 4 })
})

test('a span of events ends where the leader has no more of it', async () => {
  const events = new EventLog(log.connection, log.metrics)
  const { js, jsm } = log.connection
  for (let i = 0; i < 5; i++) await js.publish('event.a.now', `${i}`)
  for (const sequence of [2, 4, 5]) await jsm.streams.deleteMessage('EVENTS', sequence)
  const read: number[] = []
  for await (const { sequence } of events.readRaw(1, 5)) read.push(sequence)
  assert.deepEqual(read, [1, 3])
})
