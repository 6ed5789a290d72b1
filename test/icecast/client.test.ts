import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  createConnections,
  MountClient,
  maxHeadBytes,
  maxRequestsPerServer,
} from '../../src/icecast/client.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { metricOf, until } from '../helpers/log.ts'

const taken = '<iceresponse><message>Metadata update successful</message><return>1</return></iceresponse>'
const password = 'very-secret-password'

/** A server of bytes: it keeps the heads it got and answers each with the same bytes, or with none. */
async function bytesServer(t: TestContext, answer: string | null) {
  const heads: string[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    let head = ''
    socket.on('data', data => {
      head += data.toString('latin1')
      if (!head.endsWith('\r\n\r\n')) return
      heads.push(head)
      if (answer !== null) socket.end(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { heads, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const ok = (body: string) => `HTTP/1.0 200 OK\r\nContent-Type: text/xml\r\n\r\n${body}`

function clientOf(
  url: string,
  charset = 'UTF-8',
  timeoutMs = 5_000,
  connections = createConnections(createMetrics()),
) {
  return new MountClient({ url, mount: '/live', user: 'live', password, charset }, connections, timeoutMs)
}

test('the request, byte by byte', async t => {
  const { heads, url } = await bytesServer(t, ok(taken))
  await clientOf(`${url}/behind/`).update('Jü - x')
  await clientOf(url, 'none').update('Jü - x')
  const credentials = Buffer.from(`live:${password}`).toString('base64')
  const rest = `Host: ${url.slice(7)}\r\nAuthorization: Basic ${credentials}\r\nUser-Agent: nownext\r\nConnection: close\r\n\r\n`
  const query = 'mode=updinfo&mount=%2Flive'
  assert.deepEqual(heads, [
    `GET /behind/admin/metadata?${query}&charset=UTF-8&song=J%C3%BC%20-%20x HTTP/1.1\r\n${rest}`,
    `GET /admin/metadata?${query}&song=J%C3%BC%20-%20x HTTP/1.1\r\n${rest}`,
  ])
})

test('the head fills its room and never passes it', async t => {
  const { heads, url } = await bytesServer(t, ok(taken))
  await clientOf(url).update('a'.repeat(4_000))
  await clientOf(url).update('ü'.repeat(2_000))
  const fixed = (heads[0]?.length ?? 0) - (heads[0]?.match(/song=(a+)/)?.[1]?.length ?? 0)
  assert.equal(heads[0]?.length, maxHeadBytes)
  await clientOf(url).update('a'.repeat(maxHeadBytes - fixed))
  assert.equal(heads[2]?.length, maxHeadBytes)
  const cut = maxHeadBytes - (heads[1]?.length ?? 0)
  assert.ok(cut >= 0 && cut < '%C3%BC'.length)
})

test('no redirect is followed: the credentials stay with the server they are for', async t => {
  const other = await bytesServer(t, ok(taken))
  const first = await bytesServer(t, `HTTP/1.0 302 Found\r\nLocation: ${other.url}/\r\n\r\n`)
  await assert.rejects(clientOf(first.url).update('x'), {
    message: 'the server redirects (302); give its own url',
  })
  assert.equal(other.heads.length, 0)
})

test('a server that hangs is left after the time-out, and only so many requests wait for it', async t => {
  const { heads, url } = await bytesServer(t, null)
  const metrics = createMetrics()
  const connections = createConnections(metrics)
  // The one too many has lost patience before the others make room for it.
  const patienceMs = [...Array<number>(maxRequestsPerServer).fill(600), 300]
  const clients = patienceMs.map(timeoutMs => clientOf(url, 'UTF-8', timeoutMs, connections))
  const results = Promise.allSettled(clients.map(client => client.update('x')))
  await until('as many as may have arrived', () => heads.length === maxRequestsPerServer)
  assert.equal(await metricOf(metrics.icecastRequests), maxRequestsPerServer + 1)
  // Another server is not held up.
  const other = await bytesServer(t, ok(taken))
  await clientOf(other.url, 'UTF-8', 5_000, connections).update('x')
  assert.deepEqual(
    (await results).map(result => result.status === 'rejected' && result.reason.message),
    patienceMs.map(timeoutMs => `no answer within ${timeoutMs / 1000} s`),
  )
  assert.equal(heads.length, maxRequestsPerServer)
  assert.equal(await metricOf(metrics.icecastRequests), 0)
})

test('no error holds the password, whatever the server says', async t => {
  const answers = [
    `HTTP/1.0 500 ${password}\r\n\r\n${password}`,
    `HTTP/1.0 200 OK\r\n\r\n<message>${password}</message>`,
    `${password}\r\n\r\n`,
    `HTTP/1.0 200 OK\r\n\r\n${'x'.repeat(1024 * 1024 + 1)}`,
    '',
  ]
  for (const answer of answers) {
    const { url } = await bytesServer(t, answer)
    const attempts = await Promise.allSettled([clientOf(url).update('x'), clientOf(url).sourceStart()])
    const refusals = attempts.flatMap(attempt => (attempt.status === 'rejected' ? [attempt.reason] : []))
    assert.ok(refusals.length > 0)
    for (const { message } of refusals) assert.ok(!message.includes(password), message)
  }
})
