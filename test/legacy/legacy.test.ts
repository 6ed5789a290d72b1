// Rule 32: the old subscription paths, read by the client of the nes protocol itself.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { begin, end } from '../../src/domain/listener.ts'
import { plainChannel } from '../../src/domain/registry.ts'
import { maxSubscriptions } from '../../src/legacy/client.ts'
import { maxMessageBytes } from '../../src/legacy/legacy.ts'
import { Listeners } from '../../src/log/listeners.ts'
import { count, createWorld, refusal, until, type World } from '../edge/world.ts'
import { Player, startLegacy, type TestLegacy } from './world.ts'

let world: World
let legacy: TestLegacy
before(async () => {
  world = await createWorld()
  legacy = await startLegacy(world)
})
after(async () => {
  await legacy.legacy.stop()
  await world.close()
})

async function player(...paths: string[]): Promise<Player> {
  const made = new Player(legacy.wsUrl)
  for (const path of paths) await made.subscribe(path)
  await made.connect()
  return made
}

test('a channel: the current state, next before now, then every change, byte for byte', async () => {
  const { now, next } = await world.show('a', { song: 'One' }, { song: 'Two', extra: 'x' }, ['next', 'now'])
  const early = await player('/metachannel/a')
  const late = await player()
  await late.subscribe('/metachannel/a')
  await until(() => early.got.length === 2 && late.got.length === 2)
  for (const { got } of [early, late])
    assert.deepEqual(
      got.map(({ message }) => message),
      [{ ...next, extdata: { extra: 'x' } }, now],
    )
  await world.show('a', { song: 'Three' }, 'gone', ['next', 'now'])
  await until(() => early.got.length === 4 && late.got.length === 4)
  assert.deepEqual(early.said.slice(2), ['/metachannel/a next ', '/metachannel/a now Three'])
  await late.client.unsubscribe('/metachannel/a')
  await world.show('a', { song: 'Four' }, null, ['now'])
  await until(() => early.got.length === 5)
  assert.equal(late.got.length, 4)
  assert.equal((await legacy.metrics.legacySubscriptions.get()).values[0]?.value, 1)
  await Promise.all([early.client.disconnect(), late.client.disconnect()])
})

test('a station: its channels in the order of their last change, each next before now', async () => {
  await world.show('b', { song: 'B now' }, { song: 'B next' }, ['next', 'now'])
  await world.show('a', { song: 'A now' }, null, ['now'])
  await world.show('c', { song: 'C now' }, null, ['now'])
  const one = await player('/metastation/one')
  await until(() => one.got.length >= 3)
  await world.show('b', { song: 'B later' }, null, ['now'])
  await until(() => one.got.length === 4)
  assert.deepEqual(
    one.said,
    ['next B next', 'now B now', 'now A now', 'now B later'].map(s => `/metastation/one ${s}`),
  )
  await one.client.disconnect()
})

test('a listener: silent before its stream starts, then the records of its channel', async () => {
  const listeners = new Listeners(world.connection)
  await world.show('c', { song: 'Heard' }, null, ['now'])
  const own = await player('/metadata/meta.id~1')
  const session = { channelkey: 'c', client: '', session: 's1', mount: '/c' }
  await listeners.change('meta.id~1', before => begin(before, session))
  await until(() => own.got.length === 1)
  assert.deepEqual(own.said, ['/metadata/meta.id~1 now Heard'])
  assert.deepEqual([own.got[0]?.message['session'], own.got[0]?.message['mount']], ['s1', '/c'])
  await world.show('c', { song: 'Next one' }, null, ['now'])
  await until(() => own.got.length === 2)
  const polled = await fetch(`${legacy.httpUrl}/metadata/meta.id~1`)
  assert.equal(((await polled.json()) as { song: string }).song, 'Next one')
  assert.equal(polled.headers.get('cache-control'), 'private, no-store')
  await own.client.disconnect()
  await until(async () => (await legacy.metrics.legacyFollowed.get()).values[0]?.value === 0)
  await listeners.change('meta.id~1', before => end(before, 'c', null))
  listeners.stop()
})

test('paths and keys that are none are refused, in a hello and later', async () => {
  const unknown = new Player(legacy.wsUrl)
  await unknown.subscribe('/metachannel/nobody')
  await assert.rejects(unknown.connect(), { statusCode: 404, path: '/metachannel/nobody' })
  const connected = await player()
  for (const [path, statusCode] of [
    ['/metachannel/nobody', 404],
    ['/metastation/nobody', 404],
    ['/metachannel/a?type=now', 400],
    ['/metachannel/a/b', 404],
    ['/metadata/...', 404],
    ['/else', 404],
  ] as const)
    await assert.rejects(connected.subscribe(path), { statusCode, path }, path)
  await connected.subscribe('/metachannel/c')
  await until(() => connected.got.length === 1)
  await assert.rejects(connected.client.request('/metachannel/c'), { statusCode: 404 })
  await assert.rejects(connected.client.message('hi'), { statusCode: 501 })
  await connected.client.reauthenticate({ headers: {} })
  await connected.client.disconnect()
})

test('messages that the protocol does not allow are answered with 400, and the socket goes on', async () => {
  const raw = await Raw.open(legacy.wsUrl)
  const cases: Array<[sent: string, status: number | undefined]> = [
    ['no json', 400],
    ['null', 400],
    ['[]', 400],
    ['{"id":1}', 400],
    ['{"type":"hello","version":"2"}', 400],
    ['{"type":"sub","id":1,"path":"/metachannel/a"}', 400],
    ['{"type":"hello","id":1,"version":"1"}', 400],
    ['{"type":"hello","id":1,"version":"2","subs":"/metachannel/a"}', 400],
    ['{"type":"hello","id":1,"version":"2","auth":{"headers":{"authorization":"x"}}}', undefined],
    ['{"type":"hello","id":2,"version":"2"}', 400],
    ['{"type":"sub","id":3}', 400],
    ['{"type":"else","id":4}', 400],
    ['{"type":"unsub","id":5,"path":"/metachannel/a"}', undefined],
  ]
  for (const [sent, status] of cases) assert.equal((await raw.ask(sent))['statusCode'], status, sent)
  raw.ws.terminate()
})

test('a channel that is deleted: its subscription is revoked', async () => {
  await world.registry.putChannel(plainChannel('gone', 'one'))
  const own = await player('/metachannel/gone')
  await world.registry.removeChannel('gone')
  await until(async () => (await legacy.metrics.legacySubscriptions.get()).values[0]?.value === 0)
  await assert.rejects(
    (async () => {
      await until(() => !own.client.subscriptions().includes('/metachannel/gone'))
      await own.subscribe('/metachannel/gone')
    })(),
    { statusCode: 404 },
  )
  await own.client.disconnect()
})

test('plain requests get the record, and every answer says that the paths will end', async () => {
  const dated = await startLegacy(world, { settings: { legacySunset: '2099-06-30' } })
  const ask = (path: string, init: RequestInit = {}) => fetch(`${dated.httpUrl}${path}`, init)
  const record = await ask('/metachannel/c')
  assert.equal(record.status, 200)
  assert.equal(((await record.json()) as { song: string }).song, 'Next one')
  assert.equal(record.headers.get('sunset'), 'Tue, 30 Jun 2099 00:00:00 GMT')
  assert.match(record.headers.get('deprecation') ?? '', /^@\d{10}$/)
  assert.equal(record.headers.get('access-control-allow-origin'), '*')
  const etag = record.headers.get('etag') ?? ''
  assert.equal((await ask('/metachannel/c', { headers: { 'If-None-Match': etag } })).status, 304)
  assert.equal(((await (await ask('/metastation/one')).json()) as []).length, 2)
  assert.equal((await ask('/metadata/nobody')).status, 204)
  assert.equal(
    (await ask('/metachannel/c', { method: 'HEAD' })).headers.get('content-length'),
    record.headers.get('content-length'),
  )
  assert.equal((await ask('/metachannel/c', { method: 'OPTIONS' })).status, 204)
  const wrong = await ask('/metachannel/c', { method: 'POST', body: 'x' })
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
  const unknown = await ask('/metachannel/nobody')
  assert.deepEqual([unknown.status, unknown.headers.get('content-type')], [404, 'application/problem+json'])
  assert.ok(unknown.headers.has('deprecation') && unknown.headers.has('sunset'))
  assert.equal((await ask('/')).status, 404)
  const ws = new WebSocket(dated.wsUrl)
  const [{ headers }] = await once(ws, 'upgrade')
  assert.equal(headers.sunset, 'Tue, 30 Jun 2099 00:00:00 GMT')
  assert.match(headers.deprecation, /^@\d{10}$/)
  ws.terminate()
  await dated.legacy.stop()
})

test('what no route sees is answered with a problem too', async () => {
  const { legacy, metrics } = await startLegacy(world)
  const upgrade = 'GET /metachannel/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
  const requests = [
    'hello\r\n\r\n',
    `GET / HTTP/1.1\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`,
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /nowhere HTTP/1.1\r\nExpect: much\r\nConnection: close\r\n\r\n',
    `${upgrade}\r\n`,
  ]
  const statuses: number[] = []
  for (const request of requests) {
    const socket = connect(legacy.port, '127.0.0.1').setEncoding('latin1')
    socket.write(request)
    let answer = ''
    for await (const text of socket) answer += text
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    assert.match(head, /^content-type: application\/problem\+json$/im, answer)
    assert.match(head, /^deprecation: @/im)
    statuses.push(JSON.parse(body).status)
  }
  assert.deepEqual(statuses, [400, 413, 400, 404, 400])
  assert.match(await metrics.registry.metrics(), /legacy_requests_total\{status="400"\} 3/)
  await legacy.stop()
})

test('at the sunset the sockets are closed, and every request gets 410', async () => {
  let nowMs = Date.parse('2027-06-29T23:59:59.999Z')
  const ending = await startLegacy(world, { settings: { legacySunset: '2027-06-30' }, clock: () => nowMs })
  assert.equal((await fetch(`${ending.httpUrl}/metachannel/c`)).status, 200)
  const own = new Player(ending.wsUrl)
  await own.connect()
  nowMs++
  await until(() => own.disconnects.length === 1)
  assert.deepEqual(own.disconnects, [{ code: 1001, reason: 'gone' }])
  assert.equal(await count(ending.metrics.legacyClosed, 'sunset'), 1)
  const answer = await fetch(`${ending.httpUrl}/metachannel/c`)
  assert.equal(answer.status, 410)
  assert.equal(((await answer.json()) as { code: string }).code, 'gone')
  assert.equal(answer.headers.get('sunset'), 'Wed, 30 Jun 2027 00:00:00 GMT')
  assert.equal((await refusal(ending.httpUrl)).status, 410)
  await ending.legacy.stop()
})

test('heartbeats: who answers stays, who does not is cut', async () => {
  const beating = await startLegacy(world, { heartbeat: { intervalMs: 400, timeoutMs: 300 } })
  const own = new Player(beating.wsUrl)
  await own.connect()
  const silent = await Raw.open(beating.wsUrl)
  await silent.ask('{"type":"hello","id":1,"version":"2"}')
  const mute = await Raw.open(beating.wsUrl)
  await Promise.all([silent.closed, mute.closed])
  assert.equal(await count(beating.metrics.legacyClosed, 'timeout'), 2)
  await own.subscribe('/metachannel/c')
  await until(() => own.got.length === 1)
  assert.deepEqual(own.errors, [])
  await own.client.disconnect()
  await beating.legacy.stop()
})

test('limits: subscriptions, message size, sockets; at the limit and one past it', async () => {
  const paths = Array.from({ length: maxSubscriptions }, (_, index) => `/metadata/listener${index}`)
  const own = await player(...paths)
  await assert.rejects(own.subscribe('/metachannel/a'), { statusCode: 429 })
  assert.equal(await count(legacy.metrics.legacyRejected, 'subscriptions'), 1)
  await own.client.unsubscribe('/metadata/listener0')
  await own.subscribe('/metachannel/a')
  await own.client.disconnect()
  const tooMany = new Player(legacy.wsUrl)
  for (const path of [...paths, '/metachannel/a']) await tooMany.subscribe(path)
  await assert.rejects(tooMany.connect(), { statusCode: 429 })

  const raw = await Raw.open(legacy.wsUrl)
  const hello = '{"type":"hello","id":1,"version":"2"}'
  assert.equal((await raw.ask(hello.padEnd(maxMessageBytes)))['type'], 'hello')
  raw.ws.send(hello.padEnd(maxMessageBytes + 1))
  assert.equal(await raw.closed, 1009)

  const small = await startLegacy(world, { maxSockets: 1 })
  const only = await Raw.open(small.wsUrl)
  const refused = await refusal(small.httpUrl)
  assert.deepEqual([refused.status, refused.body['code']], [503, 'busy'])
  assert.equal(await count(small.metrics.legacyRejected, 'sockets'), 1)
  only.ws.close()
  await only.closed
  await until(async () => (await small.metrics.legacySockets.get()).values[0]?.value === 0)
  await Raw.open(small.wsUrl)
  await small.legacy.stop()
})

test('a client that does not read is cut when its queue is full; a snapshot does not count', async () => {
  const tight = await startLegacy(world, { settings: { socketQueue: 65_536 } })
  const extra = 'x'.repeat(30_000)
  for (let n = 0; n < 40; n++) await world.registry.putChannel(plainChannel(`slow${n}`, 'two'))
  for (let n = 0; n < 40; n++)
    await world.show(`slow${n}`, { station: 'two', extra }, { station: 'two', extra }, ['next', 'now'])
  const reader = new Player(tight.wsUrl)
  await reader.subscribe('/metastation/two')
  await reader.connect()
  await until(() => reader.got.length >= 80)
  const slow = await Raw.open(tight.wsUrl)
  slow.ws.send('{"type":"hello","id":1,"version":"2","subs":["/metastation/two"]}')
  slow.ws.pause()
  for (let n = 0; (await count(tight.metrics.legacyClosed, 'slow')) === 0; n++) {
    assert.ok(n < 1_000, 'it is never cut')
    await world.show('slow0', { station: 'two', song: `${n}`, extra }, null, ['now'])
  }
  const sent = reader.got.length
  await world.show('slow0', { station: 'two', song: 'after' }, null, ['now'])
  await until(() => reader.got.at(-1)?.message['song'] === 'after')
  assert.ok(reader.got.length > sent)
  await reader.client.disconnect()
  await tight.legacy.stop()
})

test('drain: no new client, the others are told to come again', async () => {
  const draining = await startLegacy(world)
  const own = new Player(draining.wsUrl)
  await own.connect()
  await draining.legacy.drain()
  assert.equal(draining.legacy.unready(), 'draining')
  await until(() => own.disconnects.length === 1)
  assert.equal(own.disconnects[0]?.code, 1012)
  await assert.rejects(fetch(`${draining.httpUrl}/metachannel/a`))
  await draining.legacy.stop()
})

/** A socket that speaks the protocol by hand. */
class Raw {
  readonly ws: WebSocket
  readonly closed: Promise<number>

  constructor(ws: WebSocket) {
    this.ws = ws
    this.closed = once(ws, 'close').then(([code]) => code)
    ws.on('error', () => undefined)
  }

  static async open(url: string): Promise<Raw> {
    const raw = new Raw(new WebSocket(url))
    await once(raw.ws, 'open')
    return raw
  }

  /** Sends a text, resolves to the answer. */
  async ask(text: string): Promise<Record<string, unknown>> {
    const answered = once(this.ws, 'message')
    this.ws.send(text)
    return JSON.parse(String((await answered)[0]))
  }
}
