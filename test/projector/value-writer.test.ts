import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import { ValueWriter, writeWindow } from '../../src/projector/value-writer.ts'
import { until } from '../helpers/log.ts'
import { createWorld } from './harness.ts'

test('the window is full at its limit, and has room again once half of it is acknowledged', async context => {
  const world = await createWorld(context)
  let acked = 0
  const writer = new ValueWriter(new ChannelBucket(world.log.connection, 'a'), 0, {
    progress: values => {
      acked += values
    },
    failed: error => assert.fail(String(error)),
  })
  const value = { channelkey: 'one', json: '{}' }
  for (let event = 1; event < writeWindow; event++) writer.send(event, [value])
  assert.equal(writer.hasRoom, true)
  writer.send(writeWindow, [value])
  assert.equal(writer.hasRoom, false)
  assert.equal(writer.oldestEvent, 1)
  await writer.room()
  assert.ok(writer.hasRoom && acked >= writeWindow / 2)
  await until('all acknowledged', () => acked === writeWindow)
  assert.deepEqual([writer.oldestEvent, writer.ackedSequence, writer.lastSequence], [undefined, 256, 256])
})

test('the first refusal ends it, once', async context => {
  const world = await createWorld(context)
  const errors: unknown[] = []
  const writer = new ValueWriter(new ChannelBucket(world.log.connection, 'a'), 7, {
    progress: () => assert.fail('nothing can be stored behind sequence 7'),
    failed: error => errors.push(error),
  })
  writer.send(1, [{ channelkey: 'one', json: '{}' }])
  writer.send(2, [{ channelkey: 'one', json: '{}' }])
  await until('refused', () => errors.length > 0)
  await writer.room()
  assert.equal(errors.length, 1)
})
