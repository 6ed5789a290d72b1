// What is read of a delivered message is what the client says of it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { deliveredOf, readAckSubject } from '../../src/log/delivered.ts'
import { openLog, type TestLog } from '../helpers/log.ts'
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

test('of messages of a real server: the place, the time and what is left', async () => {
  const { js } = log.connection
  for (let i = 0; i < 20; i++) await js.publish(`$KV.channel.key${i % 7}`, `${i}`)
  const consumer = await js.consumers.get('KV_channel')
  const messages = await consumer.fetch({ max_messages: 20 })
  let seen = 0
  for await (const message of messages) {
    const { info, timestampNanos } = message
    const expected = {
      sequence: info.streamSequence,
      delivery: info.deliverySequence,
      storedMs: Number(timestampNanos / 1_000_000n),
      pending: info.pending,
    }
    assert.deepEqual(deliveredOf(message), expected)
    assert.deepEqual(readAckSubject((message as unknown as { reply: string }).reply), expected)
    // A client whose messages do not show that subject any more is asked the long way.
    assert.deepEqual(deliveredOf({ info, timestampNanos } as typeof message), expected)
    seen++
  }
  assert.equal(seen, 20)
})

const read = { sequence: 12, delivery: 3, storedMs: 1_795_852_800_123, pending: 7 }

for (const [subject, expected] of [
  ['$JS.ACK.KV_channel.follow_x.1.12.3.1795852800123999999.7', read],
  ['$JS.ACK._.acc.KV_channel.follow_x.1.12.3.1795852800123999999.7', read],
  ['$JS.ACK.hub.acc.KV_channel.follow_x.1.12.3.1795852800123999999.7.random', read],
  ['$JS.ACK.KV_channel.follow_x.1.12.3.1795852800123999999', null],
  ['$JS.ACK.KV_channel.follow_x.1.12.x.1795852800123999999.7', null],
  ['$JS.NAK.KV_channel.follow_x.1.12.3.1795852800123999999.7', null],
  ['_INBOX.a.b', null],
  ['', null],
] as const) {
  test(`the subject of an ack: ${subject || 'none'}`, () =>
    assert.deepEqual(readAckSubject(subject), expected))
}
