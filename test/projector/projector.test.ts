import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EventLog } from '../../src/log/event-log.ts'
import { Projector } from '../../src/projector/projector.ts'
import { checkFold } from '../helpers/fold.ts'
import { openLog, type TestLog, testLogger, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'
import { pushOf } from '../helpers/pushes.ts'

let nats: TestNats
let log: TestLog
let events: EventLog
let projector: Projector

before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
  events = new EventLog(log.connection, log.metrics)
  projector = new Projector({ ...log, log: testLogger })
  await projector.start()
})

after(async () => {
  await projector.drain()
  await projector.stop()
  await log.connection.close()
  await nats.stop()
})

const folded = async (sequence: number) => {
  const { ack_floor } = await log.connection.jsm.consumers.info('EVENTS', 'projector')
  return ack_floor.stream_seq >= sequence
}

test('pushes become values', async () => {
  let last = 0
  for (let i = 0; i < 50; i++) {
    last = (await events.append(`channel${i % 5}`, pushOf(`song ${i}`), `push-${i}`, 5_000)).sequence
  }
  await until('folded', () => folded(last))
  const checked = await checkFold(nats.url)
  assert.equal(checked.values, 50)
  assert.equal(projector.unready(), null)
})
