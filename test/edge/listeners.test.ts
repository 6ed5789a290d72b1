// What an edge takes for listeners: by interest, in slices, within limits (rules 18 and 28).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { begin, type Session } from '../../src/domain/listener.ts'
import { plainChannel } from '../../src/domain/registry.ts'
import { ChannelStates, type Frame } from '../../src/edge/channel-state.ts'
import { ListenerFeed, renewAfterMs } from '../../src/edge/listener-feed.ts'
import { ListenerPolls, maxListenerReads } from '../../src/edge/listener-polls.ts'
import { LogUnavailable } from '../../src/log/connection.ts'
import { Listeners } from '../../src/log/listeners.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { openLog, testLogger } from '../helpers/log.ts'
import { count, createWorld, Listener, refusal, until, type World } from './world.ts'

let world: World
let listeners: Listeners
before(async () => {
  world = await createWorld()
  listeners = new Listeners(world.connection)
})
after(async () => {
  listeners.stop()
  await world.close()
})

const session = (more: Partial<Session> = {}): Session => ({
  channelkey: 'a',
  client: '1',
  session: '',
  mount: '',
  ...more,
})
const start = (metaid: string, more: Partial<Session> = {}) =>
  listeners.change(metaid, stored => begin(stored, session(more)))

test('sessions in the bucket cost an edge nothing until asked for', async () => {
  const sessions = 3_000
  for (let from = 0; from < sessions; from += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, i) => start(`many-${from + i}`)))
  }
  const { connection, topology } = await openLog(world.nats.url)
  const { edge } = await world.edge({ connection, topology })
  const loaded = connection.nc.stats().inBytes
  // All of the sessions is half a megabyte.
  assert.ok(loaded < 50_000, `${loaded} bytes at the start`)
  for (let i = 0; i < 200; i++) await start(`many-${i}`, { client: 'another' })
  const player = await Listener.open(`http://127.0.0.1:${edge.port}/metadata/listener/many-7`)
  await world.show('a', { song: 'One' }, null, ['now'])
  assert.equal((await player.records(1))[0]?.['song'], 'One')
  assert.ok(connection.nc.stats().inBytes - loaded < 50_000, 'nor do their changes')
  player.ws.terminate()
  await edge.stop()
  await connection.close()
})

test('as many listeners as an edge may follow; one past it is refused, of those others may come', async () => {
  const { url, metrics } = await world.edge({ maxFollowed: 2 })
  const of = (metaid: string) => `${url}/metadata/listener/${metaid}`
  const players = [
    await Listener.open(of('l-1')),
    await Listener.open(of('l-2')),
    await Listener.open(of('l-1')),
  ]
  const { status, body } = await refusal(of('l-3'))
  assert.deepEqual([status, body['code']], [503, 'busy'])
  assert.equal(await count(metrics.edgeRejected, 'followed-listeners'), 1)
  players[1]?.ws.terminate()
  await until(async () => (await metrics.edgeFollowed.get()).values[0]?.value === 1)
  players.push(await Listener.open(of('l-3')))
  for (const { ws } of players) ws.terminate()
})

/** A feed whose deliveries are noted instead of sent, with a clock of its own. */
function quietFeed(states: ChannelStates) {
  const sent: Array<[metaid: string, song: string]> = []
  const clock = { nowMs: Date.now() }
  const feed = new ListenerFeed({
    listeners,
    states,
    metrics: createMetrics(),
    log: testLogger,
    clock: () => clock.nowMs,
    deliver: (metaid, _type, bytes) => sent.push([metaid, JSON.parse(Buffer.from(bytes).toString()).song]),
  })
  return { feed, sent, clock }
}

/** A channel's change to a song, as the edge makes it. */
function change(states: ChannelStates, song: string): Frame[] {
  const record = (type: string, text: string) =>
    JSON.stringify({ type, song: text, artist: 'x', session: '', mount: '', stationkey: 'one' })
  const now = record('now', song)
  const next = record('next', `${song}+`)
  const value = `{"v":1,"event":1,"done":true,"prev":0,"now":${now},"next":${next},"send":["next","now"],"play":null,"warnings":[],"state":{}}`
  return states.apply('a', Buffer.from(value), 1)
}

test("a channel's change reaches its listeners in slices, behind the channel's own sockets, in order", async () => {
  const states = new ChannelStates()
  const { feed, sent } = quietFeed(states)
  const metaids = Array.from({ length: 400 }, (_, i) => `slice-${i}`)
  await Promise.all(metaids.map(metaid => start(metaid, { session: metaid })))
  for (const metaid of metaids) feed.join(metaid)
  await until(() => metaids.every(metaid => feed.known(metaid) !== undefined))
  for (const song of ['One', 'Two']) feed.channelChanged('a', change(states, song))
  assert.equal(sent.length, 0, 'not in the same turn')
  // Who comes now gets the present state, and those who are here before that all they are owed.
  feed.join('slice-399')
  assert.deepEqual(
    sent.map(([, song]) => song),
    ['One+', 'One', 'Two+', 'Two'],
  )
  const first = feed.snapshot('slice-399', 'all').map(bytes => JSON.parse(Buffer.from(bytes).toString()))
  assert.deepEqual(
    first.map(({ song, session }) => [song, session]),
    [
      ['Two+', 'slice-399'],
      ['Two', 'slice-399'],
    ],
  )
  await until(() => sent.length === 4 * metaids.length)
  for (const metaid of ['slice-0', 'slice-200', 'slice-399']) {
    const own = sent.filter(([to]) => to === metaid).map(([, song]) => song)
    assert.deepEqual(own, ['One+', 'One', 'Two+', 'Two'])
  }
  for (const metaid of [...metaids, 'slice-399']) feed.leave(metaid)
  feed.channelChanged('a', change(states, 'Three'))
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(sent.length, 4 * metaids.length, 'nobody is left')
  feed.stop()
})

test('an open socket and a poll are signs of life, told at most once an hour', async () => {
  const { feed, clock } = quietFeed(new ChannelStates())
  await start('alive')
  const first = await listeners.read('alive')
  assert.equal(feed.renewIfOld('alive', first), false)
  clock.nowMs = first.storedMs + renewAfterMs - 1
  assert.equal(feed.renewIfOld('alive', first), false)
  clock.nowMs = first.storedMs + renewAfterMs
  feed.join('alive')
  await until(async () => (await listeners.read('alive')).revision > first.revision)
  const second = await listeners.read('alive')
  assert.deepEqual(second.listener, first.listener)
  const polls = new ListenerPolls({ listeners, feed, states: new ChannelStates(), metrics: createMetrics() })
  feed.leave('alive')
  clock.nowMs = second.storedMs + renewAfterMs
  await polls.answer({ scope: 'listener', key: 'alive', form: 'json' }, 'now', '', () => undefined)
  await until(async () => (await listeners.read('alive')).revision > second.revision)
  assert.equal(feed.renewIfOld('nobody', { listener: null, revision: 0, storedMs: 0 }), false)
  feed.stop()
})

test('polls ask the bucket once a second and metaid, at most so many at once, and bear its absence', async () => {
  const { feed } = quietFeed(new ChannelStates())
  const metrics = createMetrics()
  const waiting: Array<() => void> = []
  let reads = 0
  let away = false
  const reader = {
    async read(metaid: string) {
      reads++
      await new Promise<void>(resolve => waiting.push(resolve))
      if (away) throw new LogUnavailable('away')
      return await listeners.read(metaid)
    },
  }
  const polls = new ListenerPolls({ listeners: reader, feed, states: new ChannelStates(), metrics })
  const poll = (key: string) =>
    Promise.resolve().then(() =>
      polls.answer({ scope: 'listener', key, form: 'json' }, 'now', '', ({ status }) => answers.push(status)),
    )
  const answers: string[] = []
  const answerAll = () => waiting.splice(0).map(answer => answer())
  const twice = [poll('p-0'), poll('p-0')]
  const many = Array.from({ length: maxListenerReads - 1 }, (_, i) => poll(`p-${i + 1}`))
  await until(() => waiting.length === maxListenerReads)
  await assert.rejects(poll('p-one-more'), { code: 'busy' })
  assert.equal(await count(metrics.edgeRejected, 'listener-reads'), 1)
  answerAll()
  await Promise.all([...twice, ...many])
  assert.equal(answers.length, maxListenerReads + 1)
  await poll('p-0')
  assert.equal(reads, maxListenerReads, 'answered from what was just read')
  away = true
  const unknown = poll('p-unknown')
  await until(() => waiting.length === 1)
  answerAll()
  await assert.rejects(unknown, { code: 'unavailable' })
  feed.stop()
})

test('a listener of a channel that is removed hears nothing more, and is not closed', async () => {
  await world.registry.putChannel(plainChannel('gone', 'one'))
  const { url } = await world.edge()
  await start('of-gone', { channelkey: 'gone' })
  const player = await Listener.open(`${url}/metadata/listener/of-gone`)
  await world.show('gone', { song: 'Last' }, null, ['now'])
  await player.records(1)
  await world.registry.removeChannel('gone')
  await world.marker('gone')
  await until(async () => (await fetch(`${url}/metadata/channel/gone.json`)).status === 404)
  assert.equal((await fetch(`${url}/metadata/listener/of-gone.json`)).status, 204)
  await start('of-gone', { channelkey: 'a' })
  const records = await player.records(2)
  assert.equal(records[1]?.['channelkey'], 'a')
  player.ws.terminate()
})
