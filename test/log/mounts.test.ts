import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Mount, MountState } from '../../src/domain/mount.ts'
import { Mounts } from '../../src/log/mounts.ts'
import { openLog, type TestLog, until } from '../helpers/log.ts'
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

const mount = (path: string): Mount => ({
  url: 'http://127.0.0.1:8000',
  mount: path,
  user: 'source',
  password: 'secret',
  charset: 'UTF-8',
})
const state = (path: string): MountState => ({
  url: 'http://127.0.0.1:8000',
  mount: path,
  title: 'A - B',
  sentAt: '2026-11-27T20:15:00.000Z',
  error: null,
  errorSince: null,
})

async function started(): Promise<Mounts> {
  const mounts = new Mounts(log.connection)
  await mounts.start()
  return mounts
}

test('mounts and states of a channel, as another process sees them', async t => {
  const writer = await started()
  const reader = await started()
  t.after(() => Promise.all([writer.stop(), reader.stop()]))
  const told: Array<[string, number]> = []
  reader.listen((channelkey, mounts) => told.push([channelkey, mounts.length]))

  await writer.put('one', [mount('/a'), mount('/b')])
  await writer.put('two', [mount('/c')])
  assert.deepEqual(writer.get('one'), [mount('/a'), mount('/b')])
  await until('the reader heard of both', () => told.length === 2)
  assert.deepEqual([...reader.channels()].sort(), [
    ['one', [mount('/a'), mount('/b')]],
    ['two', [mount('/c')]],
  ])

  await reader.putStates('one', [state('/a')])
  await until('the writer knows the state', () => writer.states('one').length === 1)
  assert.deepEqual(writer.states('one'), [state('/a')])
  assert.deepEqual(writer.states('two'), [])

  await writer.put('two', [])
  await writer.remove('one')
  await until('the reader heard of both', () => told.length === 4)
  assert.deepEqual(told, [
    ['one', 2],
    ['two', 1],
    ['two', 0],
    ['one', 0],
  ])
  assert.deepEqual([...reader.channels()], [])
  await until('the state is gone', () => reader.states('one').length === 0)
})

test('mounts are there after a restart, and found before they were seen', async t => {
  const writer = await started()
  await writer.put('kept', [mount('/kept')])
  await writer.stop()
  const unstarted = new Mounts(log.connection)
  assert.deepEqual(unstarted.get('kept'), [])
  assert.deepEqual(await unstarted.find('kept'), [mount('/kept')])
  assert.deepEqual(await unstarted.find('missing'), [])
  const reader = await started()
  t.after(() => reader.stop())
  assert.deepEqual(reader.get('kept'), [mount('/kept')])
})
