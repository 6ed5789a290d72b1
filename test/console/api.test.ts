// The console's API against a real log.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { Console, type ConsoleOptions } from '../../src/console/console.ts'
import { connectLog, type LogConnection } from '../../src/log/connection.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { History } from '../../src/log/history.ts'
import { Mounts } from '../../src/log/mounts.ts'
import { defaultReadLimits, ReadBudget } from '../../src/log/read-budget.ts'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { ensureTopology, type Topology } from '../../src/log/topology.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { metricOf } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

const metrics = createMetrics()
const adminToken = 'the-admin-token-of-this-test'
let nats: TestNats
let connection: LogConnection
let topology: Topology
let registry: Registry
let tokens: Tokens
let mounts: Mounts
let events: EventLog
let history: History
let console: Console

const log = createLog('silent')

function options(): ConsoleOptions {
  const parts = { registry, tokens, mounts, events, history, log, metrics }
  return { host: '127.0.0.1', port: 0, tls: undefined, adminToken, ...parts }
}

before(async () => {
  nats = await startNats()
  connection = await connectLog({ url: nats.url }, 'test', log, metrics)
  topology = await ensureTopology(connection, { replicas: 1, retentionDays: 400 })
  registry = new Registry(connection)
  tokens = new Tokens(connection)
  mounts = new Mounts(connection)
  events = new EventLog(connection, metrics)
  const budget = new ReadBudget(defaultReadLimits, metrics.historyReading)
  history = new History({ connection, topology, budget })
  await Promise.all([registry.start(), tokens.start(), mounts.start()])
  console = new Console(options())
  await console.start()
})

after(async () => {
  await console?.stop()
  await registry?.stop()
  await tokens?.stop()
  await mounts?.stop()
  await connection?.close()
  await nats?.stop()
})

test('it has few connections at once', async () => {
  const budget = new ReadBudget(defaultReadLimits, metrics.historyReading)
  const ownHistory = new History({ connection, topology, budget })
  const small = new Console({ ...options(), history: ownHistory, bounds: { maxConnections: 1 } })
  await small.start()
  const held = connect(small.port, '127.0.0.1')
  held.write('GET / HTTP/1.1')
  await once(held, 'connect')
  const dropped = connect(small.port, '127.0.0.1').resume()
  await once(dropped, 'close')
  assert.equal(dropped.bytesRead, 0)
  assert.equal(await metricOf(metrics.connectionsDropped, { listener: 'console' }), 1)
  held.destroy()
  await small.stop()
})

const auth = `Host: x\r\nAuthorization: Bearer ${adminToken}\r\nConnection: close`
const putJson = `PUT /api/stations/x HTTP/1.1\r\n${auth}\r\nContent-Type: application/json`
const faulty: Array<[what: string, request: string, status: number]> = [
  ['no such path', `GET /nowhere HTTP/1.1\r\n${auth}\r\n\r\n`, 404],
  ['another method', `PATCH /api/stations HTTP/1.1\r\n${auth}\r\n\r\n`, 405],
  ['a method of WebDAV', `PROPFIND /api/stations HTTP/1.1\r\n${auth}\r\n\r\n`, 405],
  ['an escape that is none', `GET /%zz HTTP/1.1\r\n${auth}\r\n\r\n`, 400],
  ['an escape that is none in the API', `GET /api/stations/%zz HTTP/1.1\r\n${auth}\r\n\r\n`, 400],
  ['a key too long for any path', `GET /api/stations/${'x'.repeat(2_000)} HTTP/1.1\r\n${auth}\r\n\r\n`, 400],
  ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['a head that is too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 413],
  [
    'a type',
    `PUT /api/stations/x HTTP/1.1\r\n${auth}\r\nContent-Type: a/b\r\nContent-Length: 1\r\n\r\nx`,
    415,
  ],
  ['no JSON', `${putJson}\r\nContent-Length: 1\r\n\r\nx`, 400],
  ['no body', `${putJson}\r\nContent-Length: 0\r\n\r\n`, 400],
  ['an expectation that nobody knows', `${putJson}\r\nExpect: much\r\nContent-Length: 1\r\n\r\nx`, 400],
]
for (const [what, request, status] of faulty) {
  test(`a problem for ${what}: ${status}`, async () => {
    const socket = connect(console.port, '127.0.0.1').setEncoding('latin1')
    socket.write(request)
    let answer = ''
    for await (const text of socket) answer += text
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(head, /^content-type: application\/problem\+json$/im)
    assert.match(head, /^cache-control: no-store$/im)
    assert.equal(JSON.parse(body).status, status)
    assert.ok(!answer.includes('nownext-'), 'no stack')
  })
}

test('a request without Host is served', async () => {
  const socket = connect(console.port, '127.0.0.1').setEncoding('latin1')
  socket.write('GET / HTTP/1.1\r\n\r\n')
  assert.match((await once(socket, 'data'))[0], /^HTTP\/1.1 200 /)
  socket.destroy()
})

test('a body that drips in is refused', async () => {
  const budget = new ReadBudget(defaultReadLimits, metrics.historyReading)
  const ownHistory = new History({ connection, topology, budget })
  const hasty = new Console({ ...options(), history: ownHistory, bounds: { requestTimeoutMs: 200 } })
  await hasty.start()
  const socket = connect(hasty.port, '127.0.0.1').setEncoding('latin1')
  socket.write(`${putJson}\r\nContent-Length: 1000\r\n\r\n`)
  const drip = setInterval(() => socket.write(' '), 20)
  const [answer] = await once(socket, 'data')
  clearInterval(drip)
  assert.match(answer, /^HTTP\/1.1 400 .*application\/problem\+json.*was not complete in time/s)
  assert.equal(await metricOf(metrics.consoleRejected, { limit: 'request-time' }), 1)
  socket.destroy()
  await hasty.stop()
})

type Answer = { status: number; body: Json; headers: Headers }
// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer is asserted by the test
type Json = any

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${console.port}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${adminToken}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
    headers: response.headers,
  }
}

async function putStation(key: string): Promise<void> {
  assert.ok((await ask('PUT', `/api/stations/${key}`, { name: key.toUpperCase() })).status < 300)
}

test('a station is created, replaced, read, listed and deleted', async () => {
  const created = await ask('PUT', '/api/stations/s1', { name: 'One', timezone: 'Europe/Berlin' })
  assert.equal(created.status, 201)
  assert.deepEqual(created.body, { key: 's1', name: 'One', timezone: 'Europe/Berlin' })
  const replaced = await ask('PUT', '/api/stations/s1', { name: 'Uno' })
  assert.equal(replaced.status, 200)
  assert.deepEqual(replaced.body, { key: 's1', name: 'Uno', timezone: null })
  assert.deepEqual((await ask('GET', '/api/stations/s1')).body, replaced.body)
  assert.ok((await ask('GET', '/api/stations')).body.some((s: { key: string }) => s.key === 's1'))
  assert.equal((await ask('DELETE', '/api/stations/s1')).status, 204)
  const gone = await ask('GET', '/api/stations/s1')
  assert.equal(gone.status, 404)
  assert.equal(gone.body.code, 'unknown-station')
  assert.equal((await ask('DELETE', '/api/stations/s1')).status, 404)
})

test('the name of a zone is stored as it is written, in whatever letters it comes', async () => {
  const station = await ask('PUT', '/api/stations/zoned', { name: '', timezone: 'europe/berlin' })
  assert.equal(station.body.timezone, 'Europe/Berlin')
  const body = { station: 'zoned', name: '', timezone: 'ASIA/kolkata' }
  assert.equal((await ask('PUT', '/api/channels/zoned', body)).body.timezone, 'Asia/Kolkata')
  assert.equal(registry.channel('zoned')?.value.timezone, 'Asia/Kolkata')
})

test('a channel gets the defaults, and a token only when it is new', async () => {
  await putStation('s2')
  const created = await ask('PUT', '/api/channels/c2', { station: 's2', name: 'Two' })
  assert.equal(created.status, 201)
  const { token, ...channel } = created.body
  assert.match(token, /^[A-Za-z0-9_-]{24,}$/)
  assert.deepEqual(channel, {
    key: 'c2',
    station: 's2',
    name: 'Two',
    timezone: null,
    cover: '',
    holdSeconds: 30,
    fallback: null,
    announceNext: true,
    history: 'recent',
    mounts: [],
  })
  assert.equal(await tokens.matches('c2', token), true)
  const whole = {
    station: 's2',
    name: 'Zwei',
    timezone: 'UTC',
    cover: 'https://example.org/c.png',
    holdSeconds: 600,
    fallback: { song: 'Station', artist: '', afterSeconds: 0, unknownAfterSeconds: 600 },
    announceNext: false,
    history: 'off',
    mounts: [],
  }
  const replaced = await ask('PUT', '/api/channels/c2', whole)
  assert.equal(replaced.status, 200)
  assert.deepEqual(replaced.body, { key: 'c2', ...whole })
  assert.equal(await tokens.matches('c2', token), true, 'PUT replaces the whole but tokens')
  // What was read can be put back.
  assert.deepEqual((await ask('PUT', '/api/channels/c2', replaced.body)).body, replaced.body)
  const back = await ask('PUT', '/api/channels/c2', { station: 's2', name: 'Two' })
  assert.deepEqual(back.body, channel)
})

test('putting the same again changes nothing', async () => {
  await putStation('s3')
  const body = { station: 's3', name: 'Three' }
  await ask('PUT', '/api/channels/c3', body)
  const revision = registry.channel('c3')?.revision
  assert.equal((await ask('PUT', '/api/channels/c3', body)).status, 200)
  await putStation('s3')
  assert.equal(registry.channel('c3')?.revision, revision)
})

test('channels are listed by key, and by station', async () => {
  await putStation('s4')
  await putStation('s4b')
  for (const key of ['c4_b', 'c4_a']) await ask('PUT', `/api/channels/${key}`, { station: 's4', name: '' })
  await ask('PUT', '/api/channels/c4_c', { station: 's4b', name: '' })
  const keys = async (path: string) => (await ask('GET', path)).body.map((c: { key: string }) => c.key)
  assert.deepEqual(await keys('/api/channels?station=s4'), ['c4_a', 'c4_b'])
  assert.ok((await keys('/api/channels')).includes('c4_c'))
  assert.deepEqual(await keys('/api/channels?station=nobody'), [])
})

test('a channel of an unknown station is refused, a station with channels stays', async () => {
  const orphan = await ask('PUT', '/api/channels/c5', { station: 'nobody', name: '' })
  assert.equal(orphan.status, 404)
  assert.equal(orphan.body.code, 'unknown-station')
  await putStation('s5')
  await ask('PUT', '/api/channels/c5', { station: 's5', name: '' })
  const kept = await ask('DELETE', '/api/stations/s5')
  assert.equal(kept.status, 409)
  assert.equal(kept.body.code, 'conflict')
  assert.equal((await ask('DELETE', '/api/channels/c5')).status, 204)
  assert.equal((await ask('DELETE', '/api/stations/s5')).status, 204)
})

test('deleting a channel revokes its tokens and tells the log; its key can be put again', async () => {
  await putStation('s6')
  const { token } = (await ask('PUT', '/api/channels/c6', { station: 's6', name: '' })).body
  assert.equal((await ask('DELETE', '/api/channels/c6')).status, 204)
  assert.equal(await tokens.matches('c6', token), false)
  const seen: string[] = []
  for await (const { channelkey, event } of events.read(1, 1000))
    if (channelkey === 'c6') seen.push(event.kind)
  assert.deepEqual(seen, ['delete'])
  assert.equal((await ask('DELETE', '/api/channels/c6')).status, 404)
  const again = await ask('PUT', '/api/channels/c6', { station: 's6', name: '' })
  assert.equal(again.status, 201)
  assert.notEqual(again.body.token, token)
  assert.equal((await ask('GET', '/api/channels/c6/tokens')).body.length, 1)
})

test('a removal that did not reach the log is said before the key is put again', async () => {
  await putStation('s61')
  await ask('PUT', '/api/channels/c61', { station: 's61', name: '' })
  const { revision } = await registry.removeChannel('c61')
  assert.equal((await ask('PUT', '/api/channels/c61', { station: 's61', name: '' })).status, 201)
  const said = []
  for await (const { channelkey, event } of events.read(1, 1000)) if (channelkey === 'c61') said.push(event)
  assert.deepEqual(said, [{ v: 1, kind: 'delete', revision }])
})

test('tokens are made, brought, listed without their secret, and revoked', async () => {
  await putStation('s7')
  await ask('PUT', '/api/channels/c7', { station: 's7', name: '' })
  const made = await ask('POST', '/api/channels/c7/tokens', { label: 'studio' })
  assert.equal(made.status, 201)
  assert.deepEqual(Object.keys(made.body), ['id', 'label', 'token'])
  assert.equal((await ask('POST', '/api/channels/c7/tokens')).status, 201, 'without a body')
  const brought = { label: 'old', token: 'abcdefghijklmnop' }
  const first = await ask('POST', '/api/channels/c7/tokens', brought)
  assert.equal(first.body.token, brought.token)
  const second = await ask('POST', '/api/channels/c7/tokens', brought)
  assert.equal(second.body.id, first.body.id, 'the same token is the same entry')
  const list = (await ask('GET', '/api/channels/c7/tokens')).body
  assert.equal(list.length, 4)
  assert.ok(!JSON.stringify(list).includes(made.body.token))
  assert.equal((await ask('DELETE', `/api/channels/c7/tokens/${made.body.id}`)).status, 204)
  assert.equal((await ask('DELETE', `/api/channels/c7/tokens/${made.body.id}`)).status, 404)
  assert.equal(await tokens.matches('c7', made.body.token), false)
  assert.equal(await tokens.matches('c7', brought.token), true)
  assert.equal((await ask('POST', '/api/channels/nobody/tokens', {})).body.code, 'unknown-channel')
})

const text1024 = 'x'.repeat(1024)
const channel = { station: 's8', name: '' }
const invalid: Array<[what: string, path: string, body: unknown, fields: string[]]> = [
  ['a mistyped member', '/api/stations/s8', { name: 'x', timezon: 'UTC' }, ['timezon']],
  ['no name', '/api/stations/s8', {}, ['name']],
  ['a name that is no text', '/api/stations/s8', { name: 7 }, ['name']],
  ['a name past the limit', '/api/stations/s8', { name: `${text1024}x` }, ['name']],
  ['a name with a line break', '/api/stations/s8', { name: 'a\nb' }, ['name']],
  ['a name with half a character', '/api/stations/s8', '{"name":"\\ud800"}', ['name']],
  ['a zone that is none', '/api/stations/s8', { name: '', timezone: 'Berlin' }, ['timezone']],
  ['an offset for a zone', '/api/stations/s8', { name: '', timezone: '+01:00' }, ['timezone']],
  ['an empty zone', '/api/stations/s8', { name: '', timezone: '' }, ['timezone']],
  ['another key than the path', '/api/stations/s8', { key: 's9', name: '' }, ['key']],
  ['a key that is none', '/api/stations/a.b', { name: '' }, ['key']],
  ['a key of 65 characters', `/api/stations/${'k'.repeat(65)}`, { name: '' }, ['key']],
  ['a list', '/api/stations/s8', [], ['body']],
  ['every field at once', '/api/channels/c8', { name: 1, cover: 2 }, ['station', 'name', 'cover']],
  ['a hold past the limit', '/api/channels/c8', { ...channel, holdSeconds: 601 }, ['holdSeconds']],
  ['a negative hold', '/api/channels/c8', { ...channel, holdSeconds: -1 }, ['holdSeconds']],
  ['a hold as text', '/api/channels/c8', { ...channel, holdSeconds: '30' }, ['holdSeconds']],
  ['a NUL in a cover', '/api/channels/c8', { ...channel, cover: 'http://x/\0y' }, ['cover']],
  ['a control character in a cover', '/api/channels/c8', { ...channel, cover: 'http://x/\u0085' }, ['cover']],
  ['a cover of another scheme', '/api/channels/c8', { ...channel, cover: 'ftp://x/y' }, ['cover']],
  ['an unknown history', '/api/channels/c8', { ...channel, history: 'all' }, ['history']],
  ['a bad announceNext', '/api/channels/c8', { ...channel, announceNext: 'no' }, ['announceNext']],
  [
    'a fallback without its time',
    '/api/channels/c8',
    { ...channel, fallback: { song: '', artist: '' } },
    ['fallback.afterSeconds'],
  ],
  [
    'a mistyped member of a fallback',
    '/api/channels/c8',
    { ...channel, fallback: { song: '', artist: '', afterSeconds: 1, title: '' } },
    ['fallback.title'],
  ],
]

for (const [what, path, body, fields] of invalid) {
  test(`400 for ${what}`, async () => {
    const answer = await ask('PUT', path, body)
    assert.equal(answer.status, 400)
    assert.equal(answer.headers.get('content-type'), 'application/problem+json')
    assert.equal(answer.body.code, 'invalid')
    assert.deepEqual(answer.body.errors.map((e: { field: string }) => e.field).sort(), [...fields].sort())
    assert.ok(!('instance' in answer.body))
  })
}

test('values at their limits pass', async () => {
  await putStation('s9')
  const key = 'k'.repeat(64)
  const body = { station: 's9', name: text1024, holdSeconds: 0, timezone: null, fallback: null }
  assert.equal((await ask('PUT', `/api/channels/${key}`, body)).status, 201)
  assert.equal((await ask('PUT', `/api/channels/${key}`, { ...body, holdSeconds: 600 })).status, 200)
})

test('a brought token has 16 to 128 characters of a path', async () => {
  await putStation('s10')
  await ask('PUT', '/api/channels/c10', { station: 's10', name: '' })
  const post = async (token: string) => (await ask('POST', '/api/channels/c10/tokens', { token })).status
  assert.equal(await post('a'.repeat(15)), 400)
  assert.equal(await post('a'.repeat(16)), 201)
  assert.equal(await post('a'.repeat(128)), 201)
  assert.equal(await post('a'.repeat(129)), 400)
  assert.equal(await post('has/a/slash/inside'), 400)
  const wrong = await ask('POST', '/api/channels/c10/tokens', { token: 'too-short-secret/' })
  assert.ok(!JSON.stringify(wrong.body).includes('too-short-secret'), 'no token in an error')
})

test('without the admin token everything under /api is 401', async () => {
  const cases = ['', 'Bearer', 'Bearer wrong-token-wrong-token', `Basic ${adminToken}`, adminToken]
  for (const path of ['/api/stations', '/api/nothing', '/%61pi/stations', '/api/channels/c2/tokens']) {
    for (const authorization of cases) {
      const answer = await ask('GET', path, undefined, { Authorization: authorization })
      assert.equal(answer.status, 401, `${path} ${authorization}`)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
      assert.equal(answer.body.code, 'unauthorized')
    }
  }
})

test('other errors are problems too', async () => {
  const unknown = await ask('GET', '/api/nothing')
  assert.deepEqual([unknown.status, unknown.body.code], [404, 'not-found'])
  assert.equal((await ask('GET', '/nothing')).status, 404)
  const method = await ask('POST', '/api/stations', {})
  assert.deepEqual([method.status, method.body.code], [405, 'method-not-allowed'])
  assert.equal(method.headers.get('allow'), 'GET, HEAD')
  assert.equal((await ask('PATCH', '/api/channels/c2', {})).headers.get('allow'), 'DELETE, GET, HEAD, PUT')
  const broken = await ask('PUT', '/api/stations/x', '{"name":')
  assert.deepEqual([broken.status, broken.body.code], [400, 'malformed'])
  const form = await ask('PUT', '/api/stations/x', 'name=x', { 'Content-Type': 'text/plain' })
  assert.deepEqual([form.status, form.body.code], [415, 'unsupported-media-type'])
  assert.equal(
    (await ask('PUT', '/api/stations/x', '{"__proto__":{"name":"x"}}')).status,
    400,
    'no prototype is set',
  )
})

test('a body of 64 KiB is read, one byte more is 413', async () => {
  const body = (bytes: number) => `{"name":"big"${' '.repeat(bytes - 14)}}`
  assert.equal((await ask('PUT', '/api/stations/big', body(64 * 1024))).status, 201)
  const over = await ask('PUT', '/api/stations/big', body(64 * 1024 + 1))
  assert.deepEqual([over.status, over.body.code], [413, 'too-large'])
  assert.match(await metrics.registry.metrics(), /^nownext_console_rejected_total\{limit="body"\} 1$/m)
})

test('the front page says what this is, and nothing secret', async () => {
  const page = await ask('GET', '/', undefined, { Authorization: '' })
  assert.equal(page.status, 200)
  assert.match(page.body, /nownext console/)
  assert.ok(!page.body.includes(adminToken))
})

test('a port in use is one clear line', async () => {
  const second = new Console({
    host: '127.0.0.1',
    port: console.port,
    tls: undefined,
    adminToken,
    registry,
    tokens,
    mounts,
    events,
    history,
    log: createLog('silent'),
    metrics,
  })
  await assert.rejects(second.start(), {
    name: 'StartError',
    message: `the console cannot listen on 127.0.0.1:${console.port}: the port is in use`,
  })
  await second.stop()
})
