// The bucket `listener` on a real nats-server: lapse, markers, following.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { begin, end, type Listener, type Session } from '../../src/domain/listener.ts'
import { Listeners, type StoredListener } from '../../src/log/listeners.ts'
import { openLog, type TestLog, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let log: TestLog
let listeners: Listeners
before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
  listeners = new Listeners(log.connection)
})
after(async () => {
  listeners.stop()
  await log.connection.close()
  await nats.stop()
})

const session: Session = { channelkey: 'main', client: '1', session: 's', mount: '/m' }
const starts = (before: Listener | null) => begin(before, session)
const ends = (before: Listener | null) => end(before, 'main', null)

/** Follows, and keeps what is told. */
function follow(by: Listeners, metaid: string): { told: StoredListener[]; stop(): void } {
  const told: StoredListener[] = []
  return { told, stop: by.follow(metaid, stored => told.push(stored)) }
}

test('a session is stored under any metaid, with its lapse, and ends', async () => {
  for (const metaid of ['plain', 'a.b~c', '.x', 'x'.repeat(128)]) {
    assert.equal((await listeners.read(metaid)).listener, null)
    await listeners.change(metaid, starts)
    assert.deepEqual((await listeners.read(metaid)).listener, { session, overlay: null })
    await listeners.change(metaid, ends)
    assert.equal((await listeners.read(metaid)).listener, null)
    await listeners.change(metaid, starts)
    assert.deepEqual((await listeners.read(metaid)).listener?.session, session, 'again, behind the marker')
  }
  const stored = await log.connection.jsm.streams.getMessage('KV_listener', {
    last_by_subj: `$KV.listener.${Buffer.from('a.b~c').toString('base64url')}`,
  })
  assert.equal(stored?.header.get('Nats-TTL'), '86400s')
})

test('what changes nothing writes nothing; a renewal does, unless somebody else did', async () => {
  await listeners.change('still', starts)
  const first = await listeners.read('still')
  await listeners.change('still', before => end(before, 'main', 'another'))
  assert.equal((await listeners.read('still')).revision, first.revision)
  await listeners.renew('still', first)
  const second = await listeners.read('still')
  assert.ok(second.revision > first.revision)
  assert.deepEqual(second.listener, first.listener)
  await listeners.renew('still', first)
  assert.equal((await listeners.read('still')).revision, second.revision)
})

test('a session without a sign of life lapses; followers learn it, and the key can be used again', async () => {
  const brief = new Listeners(log.connection, { lapseSeconds: 1 })
  const { told, stop } = follow(listeners, 'brief')
  await brief.change('brief', starts)
  await until('begun', () => told.at(-1)?.listener !== null && told.length > 0)
  await until('lapsed', () => told.at(-1)?.listener === null)
  const { revision, listener } = await listeners.read('brief')
  assert.equal(listener, null)
  assert.equal(told.at(-1)?.revision, revision, 'the marker has a revision of its own')
  await listeners.change('brief', starts)
  await until('begun again', () => told.at(-1)?.listener !== null)
  stop()
  brief.stop()
})

test('changes at the same time are all made, one after the other', async () => {
  const add = (before: Listener | null) =>
    begin(before, { ...session, session: `${before?.session.session ?? ''}x` })
  await Promise.all(Array.from({ length: 8 }, () => listeners.change('raced', add)))
  assert.equal((await listeners.read('raced')).listener?.session.session, 'x'.repeat(8))
  await listeners.change('raced', add, 'nothing')
  assert.equal(
    (await listeners.read('raced')).listener?.session.session,
    'x'.repeat(9),
    'a wrong guess does no harm',
  )
})

test('who follows is told what is there, then each change, in order; afterwards nothing', async () => {
  await listeners.change('followed', starts)
  const { told, stop } = follow(listeners, 'followed')
  const late = follow(listeners, 'unheard-of')
  await until('told', () => told.length > 0 && late.told.length > 0)
  assert.equal(late.told[0]?.listener, null)
  for (let i = 0; i < 20; i++)
    await listeners.change('followed', before => begin(before, { ...session, session: `${i}` }))
  await until('the last', () => told.at(-1)?.listener?.session.session === '19')
  const revisions = told.map(({ revision }) => revision)
  assert.deepEqual(
    revisions,
    revisions.toSorted((a, b) => a - b),
  )
  stop()
  const count = told.length
  await listeners.change('followed', ends)
  await listeners.change('unheard-of', starts)
  await until('the other still hears', () => late.told.at(-1)?.listener !== null)
  assert.equal(told.length, count)
  late.stop()
})

test('after a restart of the server everything followed is read again', async () => {
  const followed = Array.from({ length: 200 }, (_, i) => follow(listeners, `restart-${i}`))
  await until('all are read', () => followed.every(({ told }) => told.length > 0))
  const other = await openLog(nats.url)
  const elsewhere = new Listeners(other.connection)
  await Promise.all(followed.map((_, i) => elsewhere.change(`restart-${i}`, starts)))
  await nats.kill()
  await nats.restart()
  // Said while the first connection may be away still.
  await until('the other is back', () => other.connection.connected())
  await Promise.all(followed.slice(0, 50).map((_, i) => elsewhere.change(`restart-${i}`, ends)))
  await until('all are right', () =>
    followed.every(({ told }, i) => (told.at(-1)?.listener === null) === i < 50),
  )
  for (const { stop } of followed) stop()
  elsewhere.stop()
  await other.connection.close()
})

test('what cannot be read counts as no session', async () => {
  await log.connection.js.publish(`$KV.listener.${Buffer.from('odd').toString('base64url')}`, '{"v":9}')
  assert.equal((await listeners.read('odd')).listener, null)
  await listeners.change('odd', starts)
  assert.notEqual((await listeners.read('odd')).listener, null)
})
