// Icecast mounts by the console's API (rule 31).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console } from '../../src/console/console.ts'
import { maxMountsPerChannel, maxMountTextLength } from '../../src/domain/mount.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { History } from '../../src/log/history.ts'
import { Mounts } from '../../src/log/mounts.ts'
import { defaultReadLimits, ReadBudget } from '../../src/log/read-budget.ts'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { openLog, testLogger, until } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'

const adminToken = 'the-admin-token-of-this-test'
const password = 'very-secret-password'
const live = { url: 'http://ice:8000', mount: '/live', user: 'source', password }
const untried = { title: null, sentAt: null, error: null, errorSince: null }
const shown = { url: 'http://ice:8000', mount: '/live', user: 'source', charset: 'UTF-8', state: untried }

let world: Awaited<ReturnType<typeof start>>
before(async () => {
  world = await start()
})
after(() => world.stop())

async function start() {
  const nats = await startNats()
  const { connection, topology, metrics } = await openLog(nats.url)
  const registry = new Registry(connection)
  const tokens = new Tokens(connection)
  const mounts = new Mounts(connection)
  const events = new EventLog(connection, metrics)
  await Promise.all([registry.start(), tokens.start(), mounts.start()])
  const budget = new ReadBudget(defaultReadLimits, metrics.historyReading)
  const history = new History({ connection, topology, budget })
  const parts = { registry, tokens, mounts, events, history, log: testLogger, metrics }
  const app = new Console({ host: '127.0.0.1', port: 0, tls: undefined, adminToken, ...parts })
  await app.start()
  await registry.putStation({ key: 's', name: 'S', timezone: null })
  return {
    mounts,
    /** Asks the API about a channel. No answer may hold the password. */
    async ask(method: string, key: string, body?: object) {
      const response = await fetch(`http://127.0.0.1:${app.port}/api/channels/${key}`, {
        method,
        headers: {
          Authorization: `Bearer ${adminToken}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify({ station: 's', name: '', ...body }) }),
      })
      const text = await response.text()
      assert.ok(!text.includes(password), 'no password in an answer')
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    },
    async stop() {
      await app.stop()
      await Promise.all([registry.stop(), tokens.stop(), mounts.stop()])
      await connection.close()
      await nats.stop()
    },
  }
}

test('mounts are stored, shown without their password, replaced and deleted with the channel', async () => {
  const { ask, mounts } = world
  const created = await ask('PUT', 'c1', { mounts: [live] })
  assert.equal(created.status, 201)
  assert.deepEqual(created.body.mounts, [shown])
  assert.deepEqual((await ask('GET', 'c1')).body.mounts, [shown])
  assert.deepEqual(mounts.get('c1'), [{ ...live, charset: 'UTF-8' }])

  const second = { ...live, mount: '/second', charset: 'none' }
  assert.equal((await ask('PUT', 'c1', { mounts: [second, live] })).status, 200)
  assert.deepEqual(
    mounts.get('c1').map(({ mount, charset }) => [mount, charset]),
    [
      ['/second', 'none'],
      ['/live', 'UTF-8'],
    ],
  )
  assert.deepEqual((await ask('PUT', 'c1', {})).body.mounts, [], 'PUT replaces the whole')
  assert.deepEqual(mounts.get('c1'), [])

  await ask('PUT', 'c1', { mounts: [live] })
  assert.equal((await ask('DELETE', 'c1')).status, 204)
  assert.deepEqual(mounts.get('c1'), [])
})

test('what was read can be put back: a password left out stays', async () => {
  const { ask, mounts } = world
  await ask('PUT', 'c2', { mounts: [{ ...live, url: 'http://ice:8000/' }] })
  const { mounts: read } = (await ask('GET', 'c2')).body
  assert.equal((await ask('PUT', 'c2', { mounts: [{ ...read[0], user: 'other' }] })).status, 200)
  assert.deepEqual(mounts.get('c2'), [{ ...live, user: 'other', charset: 'UTF-8' }])
  const elsewhere = await ask('PUT', 'c2', { mounts: [{ ...read[0], mount: '/elsewhere' }] })
  assert.equal(elsewhere.status, 400, 'that of another mount is not taken')
  assert.deepEqual(elsewhere.body.errors, [
    { field: 'mounts.0.password', message: 'is missing, and the mount is new' },
  ])
})

test('a new channel does not inherit what a deletion left behind', async () => {
  const { ask, mounts } = world
  await mounts.put('c3', [{ ...live, charset: 'UTF-8' }])
  assert.equal((await ask('PUT', 'c3', { mounts: [{ ...live, password: undefined }] })).status, 400)
  assert.equal((await ask('PUT', 'c3', {})).status, 201)
  assert.deepEqual(mounts.get('c3'), [])
})

test('how a mount fares is shown', async () => {
  const { ask, mounts } = world
  await ask('PUT', 'c4', { mounts: [live] })
  const state = {
    title: 'A - B',
    sentAt: '2026-11-27T20:15:00.000Z',
    error: 'no source is connected to the mount',
    errorSince: '2026-11-27T20:20:00.000Z',
  }
  await mounts.putStates('c4', [
    { url: live.url, mount: '/gone', ...state },
    { url: live.url, mount: live.mount, ...state },
  ])
  await until('the state is known', () => mounts.states('c4').length === 2)
  assert.deepEqual((await ask('GET', 'c4')).body.mounts, [{ ...shown, state }])
})

const long = 'x'.repeat(maxMountTextLength)
const invalid: Array<[what: string, mounts: object[], field: string]> = [
  ['no user', [{ ...live, user: undefined }], 'mounts.0.user'],
  ['a user with a colon', [{ ...live, user: 'a:b' }], 'mounts.0.user'],
  ['a user past the limit', [{ ...live, user: `${long}x` }], 'mounts.0.user'],
  ['a password past the limit', [{ ...live, password: `${long}x` }], 'mounts.0.password'],
  ['a password with a line break', [{ ...live, password: 'a\nb' }], 'mounts.0.password'],
  [
    'a new mount without password',
    [live, { ...live, mount: '/b', password: undefined }],
    'mounts.1.password',
  ],
  ['a mount without its slash', [{ ...live, mount: 'live' }], 'mounts.0.mount'],
  ['a mount with a query', [{ ...live, mount: '/live?x' }], 'mounts.0.mount'],
  ['a mount past the limit', [{ ...live, mount: `/${long}` }], 'mounts.0.mount'],
  ['another scheme', [{ ...live, url: 'ftp://ice' }], 'mounts.0.url'],
  ['a password in the url', [{ ...live, url: `http://u:${password}@ice:8000` }], 'mounts.0.url'],
  ['a charset that cannot be', [{ ...live, charset: 'utf-16' }], 'mounts.0.charset'],
  ['a mount named twice', [live, { ...live, url: 'http://ice:8000/' }], 'mounts.1'],
  ['a mistyped member', [{ ...live, name: '' }], 'mounts.0.name'],
]

for (const [what, mounts, field] of invalid) {
  test(`400 for ${what}`, async () => {
    const { status, body } = await world.ask('PUT', 'c5', { mounts })
    assert.equal(status, 400)
    assert.deepEqual(
      body.errors.map((error: { field: string }) => error.field),
      [field],
    )
    assert.equal((await world.ask('GET', 'c5')).status, 404, 'nothing is stored')
  })
}

test('values at their limits pass, and one mount too many does not', async () => {
  const { ask } = world
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...live, mount: `/${index}` }))
  const longest = { ...live, mount: `/${long.slice(1)}`, user: long, password: long }
  assert.equal((await ask('PUT', 'c6', { mounts: [longest] })).status, 201)
  assert.equal((await ask('PUT', 'c6', { mounts: many(maxMountsPerChannel) })).status, 200)
  const tooMany = await ask('PUT', 'c6', { mounts: many(maxMountsPerChannel + 1) })
  assert.equal(tooMany.status, 400)
  assert.equal(tooMany.body.errors[0].field, 'mounts')
})
