import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { headers } from '@nats-io/transport-node'
import type { LoggedEvent } from '../../src/domain/event.ts'
import { LogUnavailable } from '../../src/log/connection.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { metricOf, openLog, type TestLog, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'
import { pushOf } from '../helpers/pushes.ts'

let nats: TestNats
let log: TestLog
let events: EventLog

before(async () => {
  nats = await startNats()
  log = await openLog(nats.url)
  events = new EventLog(log.connection, log.metrics)
})

after(async () => {
  await log.connection.close()
  await nats.stop()
})

// A test that fails while the server stands still must not fail the next ones.
afterEach(() => nats.resume())

const stored = async (): Promise<number> => (await events.extent()).lastSequence

async function timeout(afterMs: number): Promise<never> {
  await new Promise(resolve => setTimeout(resolve, afterMs))
  throw new Error('patient enough')
}

async function readAll(from: number, to: number): Promise<LoggedEvent[]> {
  const all: LoggedEvent[] = []
  for await (const event of events.read(from, to)) all.push(event)
  return all
}

test('the same message id is stored once', async () => {
  const first = await events.append('once', pushOf('song'), 'same', 5_000)
  const second = await events.append('once', pushOf('song'), 'same', 5_000)
  assert.deepEqual(first.duplicate, false)
  assert.deepEqual(second, { sequence: first.sequence, duplicate: true })
})

test('an event is read back as it was, with its place and time', async () => {
  const event = pushOf('Ärger', { element: { extdata: '{"n":12345678901234567890}' } })
  const { sequence } = await events.append('back', event, 'back', 5_000)
  const [read] = await readAll(sequence, sequence)
  assert.deepEqual(read?.event, event)
  assert.deepEqual([read?.channelkey, read?.sequence], ['back', sequence])
  assert.ok(Math.abs((read?.timeMs ?? 0) - Date.now()) < 5_000)
})

test('an imported event has the time in its header', async () => {
  const head = headers()
  head.set('Nownext-Time', '1234567890123')
  const ack = await log.connection.js.publish('event.import.tick', '{"v":1,"kind":"tick"}', { headers: head })
  const [read] = await readAll(ack.seq, ack.seq)
  assert.equal(read?.timeMs, 1234567890123)
})

test('reading goes over many batches, leaves out what cannot be read, and ends at the end', async () => {
  const from = (await stored()) + 1
  for (let i = 0; i < 600; i++) {
    const text = i === 300 ? 'not JSON' : i === 301 ? '{"v":2,"kind":"tick"}' : '{"v":1,"kind":"tick"}'
    log.connection.nc.publish('event.many.tick', text)
  }
  await until('stored', async () => (await stored()) === from + 599)
  const all = await readAll(from, Number.MAX_SAFE_INTEGER)
  assert.equal(all.length, 598)
  assert.deepEqual([all[0]?.sequence, all.at(-1)?.sequence], [from, from + 599])
  assert.deepEqual(await readAll(from + 600, from + 700), [])
  assert.equal((await readAll(from, from + 9)).length, 10)
})

test('an append outlasts a server that stands still, and is stored once', async () => {
  const before = await stored()
  nats.pause()
  const appended = events.append('paused', pushOf('song'), 'paused', 9_000)
  await until('an attempt timed out', async () => (await metricOf(log.metrics.intakeAppendRetries)) > 0)
  nats.resume()
  const { sequence } = await appended
  assert.equal(sequence, before + 1)
  await events.append('paused', pushOf('other'), 'after', 9_000)
  assert.equal(await stored(), before + 2)
})

test('an append outlasts a kill and restart of the server, and is stored once', async () => {
  const before = await stored()
  await nats.kill()
  const appended = events.append('killed', pushOf('song'), 'killed', 9_000)
  await nats.restart()
  assert.equal((await appended).sequence, before + 1)
  await events.append('killed', pushOf('other'), 'later', 9_000)
  assert.equal(await stored(), before + 2)
})

test('an append gives up at its deadline', async () => {
  nats.pause()
  const startedMs = performance.now()
  await assert.rejects(events.append('late', pushOf('song'), 'late', 1_500), LogUnavailable)
  const tookMs = performance.now() - startedMs
  nats.resume()
  assert.ok(tookMs > 1_400 && tookMs < 2_500, `${tookMs} ms`)
})

test('a log that was silent for 8 s: who asks then is told within a second; one answer, and there is patience again', async () => {
  nats.pause()
  await assert.rejects(events.append('away', pushOf('song'), 'away-1', 8_500), LogUnavailable)
  const startedMs = performance.now()
  await assert.rejects(events.append('away', pushOf('song'), 'away-2', 8_500), LogUnavailable)
  assert.ok(performance.now() - startedMs < 1_500)
  nats.resume()
  const again = async () =>
    await events.append('away', pushOf('song'), 'away-3', 1_000).catch(() => undefined)
  await until('it is back', async () => (await again()) !== undefined)
  nats.pause()
  const patient = events.append('away', pushOf('song'), 'away-4', 8_500)
  await assert.rejects(Promise.race([patient, timeout(1_500)]), /patient enough/)
  nats.resume()
  await patient
})

test('a full log says so at once, and takes events again by itself', async () => {
  const { jsm } = log.connection
  const { config, state } = await jsm.streams.info('EVENTS')
  await jsm.streams.update('EVENTS', { ...config, max_msgs: state.messages })
  const startedMs = performance.now()
  await assert.rejects(events.append('full', pushOf('song'), 'full', 9_000), /the log is full/)
  assert.ok(performance.now() - startedMs < 900)
  await jsm.streams.update('EVENTS', { ...config, max_msgs: -1 })
  assert.equal((await events.append('full', pushOf('song'), 'full', 9_000)).duplicate, false)
})

test('what can never be stored is not called unavailable', async () => {
  const { jsm } = log.connection
  const { config } = await jsm.streams.info('EVENTS')
  await jsm.streams.update('EVENTS', { ...config, max_msg_size: 512 })
  await assert.rejects(events.append('large', pushOf('x'.repeat(512)), 'large', 9_000), error => {
    assert.ok(!(error instanceof LogUnavailable), String(error))
    return true
  })
  await jsm.streams.update('EVENTS', { ...config, max_msg_size: -1 })
})
