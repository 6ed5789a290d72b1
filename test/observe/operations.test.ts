import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { createMetrics } from '../../src/observe/metrics.ts'
import { Operations } from '../../src/observe/operations.ts'
import { metricOf } from '../helpers/log.ts'

let reasons: string[] = []
const metrics = createMetrics()
const operations = new Operations({ port: 0, metrics, reasons: () => reasons })
before(() => operations.start())
after(() => operations.stop())

const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${operations.port}${path}`, { method })

test('/healthz says that the process lives, ready or not', async () => {
  reasons = ['starting']
  const answer = await ask('/healthz')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
})

test('/readyz says whether it can serve, else why not', async () => {
  reasons = []
  const ready = await ask('/readyz')
  assert.equal(ready.status, 200)
  assert.deepEqual(await ready.json(), { ready: true, reasons: [] })
  reasons = ['draining']
  const draining = await ask('/readyz?verbose')
  assert.equal(draining.status, 503)
  assert.equal(draining.headers.get('content-type'), 'application/json')
  assert.deepEqual(await draining.json(), { ready: false, reasons: ['draining'] })
})

test('/metrics is in the form of Prometheus', async () => {
  metrics.logConnected.set(1)
  const answer = await ask('/metrics')
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(await answer.text(), /^nownext_log_connected 1$/m)
})

test('other paths are 404, other methods 405', async () => {
  for (const path of ['/', '/metrics/', '/healthz/x']) assert.equal((await ask(path)).status, 404)
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const answer = await ask(path, 'POST')
    assert.equal(answer.status, 405)
    assert.equal(answer.headers.get('allow'), 'GET, HEAD')
    assert.equal((await ask(path, 'HEAD')).status, path === '/readyz' ? 503 : 200)
  }
})

test('it has few connections at once', async () => {
  const small = new Operations({ port: 0, metrics, reasons: () => [], maxConnections: 1 })
  await small.start()
  const held = connect(small.port, '127.0.0.1')
  held.write('GET /healthz HTTP/1.1\r\nHost')
  await once(held, 'connect')
  const dropped = connect(small.port, '127.0.0.1').resume()
  await once(dropped, 'close')
  assert.equal(dropped.bytesRead, 0)
  assert.equal(await metricOf(metrics.connectionsDropped, { listener: 'operations' }), 1)
  held.destroy()
  await small.stop()
})

test('a port in use is one clear line', async () => {
  const second = new Operations({ port: operations.port, metrics, reasons: () => [] })
  await assert.rejects(second.start(), {
    name: 'StartError',
    message: `the operations listener cannot listen on 127.0.0.1:${operations.port}: the port is in use`,
  })
  await second.stop()
})
