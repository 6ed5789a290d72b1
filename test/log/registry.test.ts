import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { plainChannel } from '../../src/domain/registry.ts'
import { Registry } from '../../src/log/registry.ts'
import { openLog, type TestLog, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let logs: TestLog[]
let ours: Registry
let theirs: Registry

before(async () => {
  nats = await startNats()
  logs = [await openLog(nats.url), await openLog(nats.url)]
  const [a, b] = logs
  assert.ok(a && b)
  ours = new Registry(a.connection)
  theirs = new Registry(b.connection)
  // Both buckets are empty: started all the same.
  await Promise.all([ours.start(), theirs.start()])
})

after(async () => {
  await Promise.all([ours.stop(), theirs.stop()])
  await Promise.all(logs.map(({ connection }) => connection.close()))
  await nats.stop()
})

const channelOf = (key: string, name = key) => plainChannel(key, 'station', name)

test('a writer sees its own writes at once, others soon', async () => {
  const revision = await ours.putStation({ key: 'station', name: 'Station', timezone: null })
  assert.deepEqual(ours.station('station'), {
    value: { key: 'station', name: 'Station', timezone: null },
    revision,
  })
  await ours.putChannel(channelOf('b'))
  await ours.putChannel(channelOf('a'))
  assert.deepEqual(
    ours.channels('station').map(({ key }) => key),
    ['a', 'b'],
  )
  assert.deepEqual(ours.channels('other'), [])
  await until('seen', () => theirs.channel('a') !== undefined && theirs.stations().length === 1)
})

test('one of two who create a channel at once is told that it was new', async () => {
  for (let round = 0; round < 20; round++) {
    const key = `race${round}`
    const results = await Promise.all([ours.putChannel(channelOf(key)), theirs.putChannel(channelOf(key))])
    assert.deepEqual(results.map(({ created }) => created).sort(), [false, true])
    assert.notEqual(results[0].revision, results[1].revision)
  }
})

test('a removal has a revision greater than all before, and the channel is new after it', async () => {
  const { revision: first } = await ours.putChannel(channelOf('gone'))
  const { revision: second, created } = await ours.putChannel(channelOf('gone', 'again'))
  assert.equal(created, false)
  const { removed, revision: third } = await theirs.removeChannel('gone')
  assert.equal(removed, true)
  assert.ok(first < second && second < third)
  assert.equal(theirs.channel('gone'), undefined)
  assert.deepEqual(await theirs.removeChannel('gone'), { removed: false, revision: 0 })
  const { revision: fourth, created: anew } = await theirs.putChannel(channelOf('gone'))
  assert.ok(anew && fourth > third)
  assert.equal(await ours.removeStation('nobody'), false)
})

test('a life of a channel begins with the removal before it and lasts as long as the channel, whoever writes', async () => {
  const lifeOf = async (registry: Registry) => (await registry.findChannel('lives'))?.value.life
  await ours.putChannel(channelOf('lives'))
  await theirs.putChannel(channelOf('lives', 'again'))
  assert.equal(await lifeOf(theirs), 0)
  const { revision } = await ours.removeChannel('lives')
  await ours.putChannel(channelOf('lives'))
  await theirs.putChannel(channelOf('lives', 'again'))
  await until('seen', () => ours.channel('lives')?.value.name === 'again')
  assert.deepEqual([await lifeOf(ours), await lifeOf(theirs)], [revision, revision])
})

test('listeners are told of removals once, by whomever', async () => {
  const told: Array<[string, number]> = []
  let changes = 0
  const end = ours.listen({
    channelRemoved: (key, revision) => told.push([key, revision]),
    changed: () => changes++,
  })
  await ours.putChannel(channelOf('mine'))
  const { revision: mine } = await ours.removeChannel('mine')
  await theirs.putChannel(channelOf('other'))
  const { revision: other } = await theirs.removeChannel('other')
  await until('told', () => told.length === 2)
  end()
  assert.deepEqual(told, [
    ['mine', mine],
    ['other', other],
  ])
  assert.ok(changes >= 3)
})

test('what was just created elsewhere is found; a miss is remembered for a second', async () => {
  assert.equal(await ours.findChannel('late'), undefined)
  await theirs.putChannel(channelOf('fresh'))
  assert.equal((await ours.findChannel('fresh'))?.value.key, 'fresh')
  await theirs.putChannel(channelOf('late'))
  await until('found', async () => (await ours.findChannel('late')) !== undefined)
  assert.equal((await ours.findStation('station'))?.value.name, 'Station')
  assert.equal(await ours.findStation('nobody'), undefined)
})

test('what changed while the server was away is seen after it is back', async () => {
  await nats.restart()
  await until('reconnected', () => logs.every(({ connection }) => connection.connected()))
  await theirs.putChannel(channelOf('a', 'renamed'))
  await until('seen', () => ours.channel('a')?.value.name === 'renamed')
})
