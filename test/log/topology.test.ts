import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { nanos } from '@nats-io/transport-node'
import { connectLog, type LogConnection } from '../../src/log/connection.ts'
import { ensureTopology, streams } from '../../src/log/topology.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { StartError } from '../../src/observe/service.ts'
import { testLogger } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

let nats: TestNats
let connections: LogConnection[]
const dayNs = nanos(86_400_000)
const options = { replicas: 1, retentionDays: 400 }

before(async () => {
  nats = await startNats()
  const metrics = createMetrics()
  const connect = () => connectLog({ url: nats.url }, 'test', testLogger, metrics)
  connections = await Promise.all(Array.from({ length: 8 }, connect))
})

after(async () => {
  await Promise.all(connections.map(connection => connection.close()))
  await nats.stop()
})

afterEach(async () => {
  const { jsm } = one()
  for await (const stream of jsm.streams.list()) await jsm.streams.delete(stream.config.name)
})

const one = (): LogConnection => {
  const [first] = connections
  assert.ok(first)
  return first
}

test('processes that start at once make one topology', async () => {
  const made = await Promise.all(connections.map(connection => ensureTopology(connection, options)))
  const incarnations = new Set(made.map(({ incarnation }) => incarnation))
  assert.equal(incarnations.size, 1)
  assert.match([...incarnations][0] ?? '', /^[0-9a-f]{8}$/)
})

test('streams are as the design has them', async () => {
  const { incarnation } = await ensureTopology(one(), options)
  const { config } = await one().jsm.streams.info(streams.events)
  assert.deepEqual(config.subjects, ['event.>'])
  assert.equal(config.discard, 'new')
  assert.equal(config.compression, 's2')
  assert.equal(config.storage, 'file')
  assert.equal(config.max_age, 400 * dayNs)
  assert.equal(config.duplicate_window, nanos(120_000))
  assert.equal(config.allow_direct, true)
  const channel = (await one().jsm.streams.info(streams.channel)).config
  assert.equal(channel.max_msgs_per_subject, -1)
  assert.equal(channel.max_age, 400 * dayNs)
  assert.equal(channel.persist_mode, 'async')
  assert.equal(channel.metadata?.['nownext-incarnation'], incarnation)
  for (const bucket of [streams.registry, streams.token]) {
    assert.equal((await one().jsm.streams.info(bucket)).config.max_msgs_per_subject, 1)
  }
})

test('longer retention is taken up, shorter is not, and the incarnation stays', async () => {
  const first = await ensureTopology(one(), options)
  const second = await ensureTopology(one(), { ...options, retentionDays: 500 })
  const third = await ensureTopology(one(), { ...options, retentionDays: 100 })
  const raised = { ...first, retentionMs: 500 * 86_400_000 }
  assert.deepEqual([second, third], [raised, raised])
  for (const stream of [streams.events, streams.channel]) {
    assert.equal((await one().jsm.streams.info(stream)).config.max_age, 500 * dayNs)
  }
})

test('a stream of somebody else is a StartError', async () => {
  await one().jsm.streams.add({ name: streams.events, subjects: ['else'] })
  await assert.rejects(ensureTopology(one(), options), error => {
    assert.ok(error instanceof StartError)
    assert.match(error.message, /EVENTS was not made by nownext: its subjects/)
    return true
  })
})

test('a bucket channel without incarnation is a StartError', async () => {
  await ensureTopology(one(), options)
  const { config } = await one().jsm.streams.info(streams.channel)
  await one().jsm.streams.delete(streams.channel)
  await one().jsm.streams.add({ ...config, metadata: {} })
  await assert.rejects(ensureTopology(one(), options), StartError)
})

test('more replicas than there are servers are a StartError', async () => {
  await assert.rejects(ensureTopology(one(), { ...options, replicas: 3 }), StartError)
})
