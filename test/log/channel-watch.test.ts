import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { headers } from '@nats-io/transport-node'
import { type ChannelUpdate, watchChannels } from '../../src/log/channel-watch.ts'
import { failureOf } from '../../src/log/connection.ts'
import { openLog, type TestLog, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let log: TestLog
let writer: TestLog

before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
  writer = await openLog(nats.url)
})

after(async () => {
  await Promise.all([log.connection.close(), writer.connection.close()])
  await nats.stop()
})

async function watch(context: TestContext) {
  const seen = { updates: [] as ChannelUpdate[], caughtUp: 0, atCatchUp: 0 }
  const watcher = await watchChannels(log.connection, {
    update: update => seen.updates.push(update),
    caughtUp: () => {
      seen.caughtUp++
      seen.atCatchUp = seen.updates.length
    },
  })
  context.after(() => watcher.stop())
  return seen
}

/** Writes until the server answers; resolves to the sequence. The message id keeps a repeated one from being two. */
async function write(key: string, value: string, id: string): Promise<number> {
  for (;;) {
    try {
      const options = { msgID: id, timeout: 500 }
      return (await writer.connection.js.publish(`$KV.channel.${key}`, value, options)).seq
    } catch (error) {
      assert.equal(failureOf(error), 'no answer')
    }
  }
}

test('an empty bucket is caught up', async context => {
  const seen = await watch(context)
  await until('caught up', () => seen.caughtUp === 1)
  assert.equal(seen.updates.length, 0)
})

test('the snapshot has the last value of each key, then changes follow', async context => {
  for (let i = 0; i < 20; i++) await write(`key${i % 4}`, `value ${i}`, `snapshot-${i}`)
  const seen = await watch(context)
  await until('caught up', () => seen.caughtUp === 1)
  assert.deepEqual(
    seen.updates.map(({ channelkey, value }) => [channelkey, value?.toString() ?? null]),
    [16, 17, 18, 19].map(i => [`key${i % 4}`, `value ${i}`]),
  )
  assert.equal(seen.atCatchUp, 4)
  const head = headers()
  head.set('KV-Operation', 'DEL')
  const { seq } = await writer.connection.js.publish('$KV.channel.key1', '', { headers: head })
  await until('seen', () => seen.updates.length === 5)
  assert.deepEqual(seen.updates.at(-1), { channelkey: 'key1', sequence: seq, value: null })
  assert.equal(seen.caughtUp, 1)
})

test('a bucket whose last value is a delete marker is caught up', async context => {
  const seen = await watch(context)
  await until('caught up', () => seen.caughtUp === 1)
  assert.equal(seen.updates.at(-1)?.value, null)
})

for (const how of ['restart', 'kill'] as const) {
  test(`no gap and no double over a ${how} of the server under writes`, async context => {
    const seen = await watch(context)
    await until('caught up', () => seen.caughtUp === 1)
    const first = (seen.updates.at(-1)?.sequence ?? 0) + 1
    let last = first
    let writing = true
    const writes = (async () => {
      for (let i = 0; writing; i++) last = await write(`key${i % 4}`, `${how} ${i}`, `${how}-${i}`)
    })()
    await until('some seen', () => seen.updates.length > 200)
    if (how === 'kill') await nats.kill()
    await nats.restart()
    const reached = last
    await until('some more written', () => last > reached + 100)
    writing = false
    await writes
    await until('all seen', () => (seen.updates.at(-1)?.sequence ?? 0) >= last)
    const live = seen.updates.map(({ sequence }) => sequence).filter(sequence => sequence >= first)
    assert.deepEqual(
      live,
      Array.from({ length: last - first + 1 }, (_, index) => first + index),
    )
    assert.equal(seen.caughtUp, 1)
  })
}

test('what was written while the watcher was cut off comes without another write', async context => {
  const seen = await watch(context)
  await until('caught up', () => seen.caughtUp === 1)
  nats.pause()
  const written = write('quiet', 'only', 'quiet-only')
  nats.resume()
  const sequence = await written
  await until('seen', () => seen.updates.at(-1)?.sequence === sequence)
})

test('its consumer vanishes, as with a server of the cluster: it is made anew from the last change', async context => {
  const seen = await watch(context)
  await until('caught up', () => seen.caughtUp === 1)
  const { consumers } = writer.connection.jsm
  for await (const { name } of consumers.list('KV_channel')) await consumers.delete('KV_channel', name)
  const sequence = await write('vanished', 'value', 'vanished-1')
  await until('the change after it', () => seen.updates.at(-1)?.sequence === sequence, 10_000)
})
