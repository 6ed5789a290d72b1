import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, beforeEach, test } from 'node:test'
import { createHttpServer, type HttpServerOptions } from '../../src/observe/http-server.ts'
import { listen } from '../../src/observe/listen.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'
import { metricOf, until } from '../helpers/log.ts'

const servers: Server[] = []
const sockets: Socket[] = []
let metrics: Metrics
beforeEach(() => {
  metrics = createMetrics()
})
after(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close().closeAllConnections()
})

async function start(more: Partial<HttpServerOptions>): Promise<number> {
  const server = createHttpServer(
    { listener: 'console', maxConnections: 10, metrics, ...more },
    (request, response) => {
      request.resume().on('end', () => response.end('ok'))
    },
  )
  servers.push(server)
  return await listen(server, 'test', '127.0.0.1', 0)
}

/** A connection on which `bytes` are sent, and what it got. */
async function open(port: number, bytes: string) {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  sockets.push(socket)
  await once(socket, 'connect')
  const client = { socket, received: '', closed: false }
  socket.on('data', text => {
    client.received += text
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    client.closed = true
  })
  socket.write(bytes)
  return client
}

const dropped = () => metricOf(metrics.connectionsDropped, { listener: 'console' })
const whole = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const part = 'GET / HTTP/1.1\r\nHost'

test('at the limit of connections all are served; one past it is dropped and counted', async () => {
  const port = await start({ maxConnections: 2 })
  const busy = [await open(port, part), await open(port, part)]
  const third = await open(port, whole)
  await until('the third is dropped', () => third.closed)
  assert.equal(third.received, '')
  assert.equal(await dropped(), 1)
  for (const { socket } of busy) socket.write(': x\r\n\r\n')
  await until('both are served', () => busy.every(({ received }) => received.endsWith('ok')))
  assert.ok(busy.every(({ closed }) => !closed))
})

test('connections that are only kept for later make room', async () => {
  const port = await start({ maxConnections: 2 })
  const idle = [await open(port, whole), await open(port, whole)]
  await until('both are served', () => idle.every(({ received }) => received.endsWith('ok')))
  const third = await open(port, whole)
  await until('the third is dropped, and the idle ones go', () => [third, ...idle].every(c => c.closed))
  const again = await open(port, whole)
  await until('the fourth is served', () => again.received.endsWith('ok'))
})

test('a head or a body that drips in is cut off', async () => {
  const port = await start({ requestTimeoutMs: 200 })
  const head = await open(port, part)
  const body = await open(port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
  const drip = setInterval(() => {
    for (const { socket } of [head, body]) if (socket.writable) socket.write('x')
  }, 20)
  try {
    await until('both are cut off', () => head.closed && body.closed)
  } finally {
    clearInterval(drip)
  }
  for (const { received } of [head, body]) assert.match(received, /^HTTP\/1\.1 408 /)
})
