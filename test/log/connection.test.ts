import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connectLog } from '../../src/log/connection.ts'
import { findNatsServer } from '../../src/nats-server/find.ts'
import { launchNats } from '../../src/nats-server/process.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { StartError } from '../../src/observe/service.ts'
import { metricOf, testLogger, until } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'

/** A nats-server with arguments of the test's own. */
async function launch(context: TestContext, args: string[]): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'nownext-nats-'))
  const binary = await findNatsServer({ say: line => console.error(line) })
  const listen = ['-a', '127.0.0.1', '-p', '-1']
  const nats = launchNats({ binary, args: [...listen, ...args], portsFolder: dir, onLine: () => undefined })
  context.after(async () => {
    await nats.stop(5_000)
    rmSync(dir, { recursive: true, force: true })
  })
  return `127.0.0.1:${await nats.ready}`
}

const connectTo = (url: string, more: { user?: string; password?: string } = {}) =>
  connectLog({ url, ...more }, 'test', testLogger, createMetrics())

const startError = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartError, String(error))
  assert.match(error.message, pattern)
  return true
}

test('an unreachable server is a StartError', async () => {
  await assert.rejects(connectTo('nats://127.0.0.1:1'), startError(/127\.0\.0\.1:1 can't be reached/))
})

test('an address that is none is a StartError', async () => {
  await assert.rejects(connectTo('nats://'), startError(/not a URL/))
})

test('credentials in the url or beside it; wrong ones are a StartError that does not show them', async context => {
  const dir = mkdtempSync(join(tmpdir(), 'nownext-js-'))
  context.after(() => rmSync(dir, { recursive: true, force: true }))
  const host = await launch(context, ['-js', '-sd', dir, '--user', 'me', '--pass', 'p@ss'])
  for (const connection of [
    await connectTo(`nats://me:p%40ss@${host}`),
    await connectTo(`nats://${host}`, { user: 'me', password: 'p@ss' }),
  ]) {
    assert.equal(connection.connected(), true)
    await connection.close()
  }
  await assert.rejects(connectTo(`nats://me:secret@${host}`), error => {
    assert.doesNotMatch(String(error), /secret/)
    return startError(/refuses the user or password/)(error)
  })
})

test('a server without JetStream is a StartError', async context => {
  const host = await launch(context, [])
  await assert.rejects(connectTo(`nats://${host}`), startError(/without JetStream/))
})

test('a server older than 2.12 is a StartError', async context => {
  // No old server is at hand: this one says the two lines of the protocol that matter here.
  const info = { server_id: 'old', version: '2.11.9', max_payload: 1024, headers: true, jetstream: true }
  const server = createServer(socket => {
    socket.write(`INFO ${JSON.stringify(info)}\r\n`)
    socket.on('data', data => String(data).includes('PING') && socket.write('PONG\r\n'))
    socket.on('error', () => socket.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  await assert.rejects(
    connectTo(`nats://127.0.0.1:${address.port}`),
    startError(/is 2\.11\.9; 2\.12 or newer/),
  )
})

test('a restart of the server is survived, told and counted', async context => {
  const nats = await startNats()
  context.after(() => nats.stop())
  const metrics = createMetrics()
  const connection = await connectLog({ url: nats.url }, 'test', testLogger, metrics)
  context.after(() => connection.close())
  let reconnects = 0
  connection.onReconnect(() => reconnects++)
  await nats.kill()
  await until('disconnected', () => !connection.connected())
  assert.equal(await metricOf(metrics.logConnected), 0)
  await nats.restart()
  await until('reconnected', () => connection.connected())
  assert.equal(reconnects, 1)
  assert.equal(await metricOf(metrics.logReconnects), 1)
  assert.equal(await metricOf(metrics.logConnected), 1)
})
