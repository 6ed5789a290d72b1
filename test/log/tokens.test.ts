import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { generateToken } from '../../src/domain/keys.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { openLog, type TestLog, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let log: TestLog
let intake: Tokens
let console: Tokens

before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
  intake = new Tokens(log.connection)
  console = new Tokens(log.connection)
  await Promise.all([intake.start(), console.start()])
})

after(async () => {
  await Promise.all([intake.stop(), console.stop()])
  await log.connection.close()
  await nats.stop()
})

test('a token just added matches at once, on its own channel only', async () => {
  const token = generateToken()
  const info = await console.add('one', token, 'studio')
  assert.equal(info.id, createHash('sha256').update(token).digest('hex').slice(0, 16))
  assert.equal(await intake.matches('one', token), true)
  assert.equal(await intake.matches('two', token), false)
  assert.equal(await intake.matches('one', generateToken()), false)
  assert.deepEqual(await console.list('one'), [info])
  assert.deepEqual(await console.list('two'), [])
})

test('the bucket holds no token', async () => {
  const token = generateToken()
  await console.add('secret', token, 'label')
  const key = createHash('sha256').update(token).digest('hex').slice(0, 16)
  const stored = await log.connection.jsm.streams.getMessage('KV_token', {
    last_by_subj: `$KV.token.secret.${key}`,
  })
  const text = Buffer.from(stored?.data ?? '').toString()
  assert.deepEqual(Object.keys(JSON.parse(text)), ['hash', 'label', 'createdAt'])
  assert.ok(!text.includes(token))
})

test('a revoked token matches no more, and others stay', async () => {
  const [old, kept] = [generateToken(), generateToken()]
  const { id } = await console.add('revoke', old, 'old')
  await console.add('revoke', kept, 'kept')
  assert.equal(await console.revoke('revoke', id), true)
  assert.equal(await console.revoke('revoke', id), false)
  assert.equal(await console.matches('revoke', old), false)
  await until('seen by the intake', async () => !(await intake.matches('revoke', old)))
  assert.equal(await intake.matches('revoke', kept), true)
})

test('all of a channel are revoked, also those that another console has just added', async () => {
  const tokens = Array.from({ length: 5 }, generateToken)
  await Promise.all(tokens.map(token => intake.add('all', token, 'x')))
  await console.add('all2', tokens[0] ?? '', 'another channel')
  await console.revokeAll('all')
  await until('seen', async () => (await intake.list('all')).length === 0)
  assert.equal((await console.list('all2')).length, 1)
  await console.revokeAll('nobody')
})
