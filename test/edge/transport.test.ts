// What the library leaves to code on top, on each build that loads here.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { loadableUws } from '../../src/edge/uws.ts'
import { StartError } from '../../src/observe/service.ts'
import { Wire } from './wire.ts'
import { createWorld, type TestEdge, type World } from './world.ts'

const host = 'Host: localhost\r\n'
const poll = `GET /metadata/channel/a.txt HTTP/1.1\r\n${host}\r\n`
const upgrade =
  `GET /metadata/channel/a HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

let world: World
before(async () => {
  world = await createWorld()
  await world.show('a', { artist: 'A', song: 'B' }, null, ['now'])
})
after(() => world.close())

for (const uws of loadableUws()) {
  describe(`transport on ${uws.name} ${uws.version}`, () => {
    let edge: TestEdge
    before(async () => {
      edge = await world.edge({ uws })
    })

    test('a poll split at every byte, and one byte a segment', async () => {
      const wire = await Wire.open(edge.port)
      for (let at = 1; at < poll.length; at++) {
        await wire.send(poll.slice(0, at), poll.slice(at))
        assert.equal((await wire.answer()).body, 'A - B')
      }
      await wire.send(...poll)
      assert.equal((await wire.answer()).body, 'A - B')
      wire.close()
    })

    test('an upgrade split at every byte', async () => {
      for (let at = 1; at < upgrade.length; at++) {
        const wire = await Wire.open(edge.port)
        await wire.send(upgrade.slice(0, at), upgrade.slice(at))
        assert.equal((await wire.answer()).status, 101, `at ${at}`)
        wire.close()
      }
    })

    test('pipelined polls are answered in order', async () => {
      const wire = await Wire.open(edge.port)
      await wire.send(poll + poll.replace('.txt', '.json') + poll)
      assert.equal((await wire.answer()).body, 'A - B')
      assert.match((await wire.answer()).body, /^\{/)
      assert.equal((await wire.answer()).body, 'A - B')
      wire.close()
    })

    test('HEAD: the length of GET, no body, the connection goes on', async () => {
      const wire = await Wire.open(edge.port)
      for (const path of [
        'channel/a.json',
        'station/one.json',
        'channel/none.json',
        'channel/a.json?type=x',
      ]) {
        const get = `GET /metadata/${path} HTTP/1.1\r\n${host}\r\n`
        await wire.send(get)
        const whole = await wire.answer()
        await wire.send(get.replace('GET', 'HEAD'))
        const head = await wire.answer({ bodiless: true })
        whole.headers.delete('date')
        head.headers.delete('date')
        assert.equal(head.status, whole.status)
        assert.deepEqual([...head.headers].sort(), [...whole.headers].sort())
      }
      await wire.send(poll)
      assert.equal((await wire.answer()).body, 'A - B')
      wire.close()
    })

    const refused: Array<[what: string, request: string, status: number]> = [
      ['a body', poll.replace('\r\n\r\n', '\r\nContent-Length: 3\r\n\r\nabc'), 400],
      [
        'a body with HEAD',
        poll.replace('GET', 'HEAD').replace('\r\n\r\n', '\r\nContent-Length: 3\r\n\r\nabc'),
        400,
      ],
      [
        'a body with OPTIONS',
        poll.replace('GET', 'OPTIONS').replace('\r\n\r\n', '\r\nContent-Length: 1\r\n\r\na'),
        400,
      ],
      ['two lengths', poll.replace('\r\n\r\n', '\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n'), 400],
      ['chunks', poll.replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'), 400],
      ['a push', poll.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\n{}'), 405],
      ['an upgrade with a body', upgrade.replace('\r\n\r\n', '\r\nContent-Length: 3\r\n\r\nabc'), 400],
    ]
    for (const [what, bytes, status] of refused) {
      test(`${what}: ${status} and closed; what came behind it is not served`, async () => {
        const alone = await Wire.open(edge.port)
        await alone.send(bytes)
        assert.equal((await alone.answer({ bodiless: bytes.startsWith('HEAD') })).status, status)
        assert.equal(await alone.rest(), '')
        const followed = await Wire.open(edge.port)
        await followed.send(bytes + poll + poll)
        assert.doesNotMatch(await followed.rest(), /HTTP\/1\.1 (200|101)/)
      })
    }

    test('a length of 0 is no body', async () => {
      const wire = await Wire.open(edge.port)
      await wire.send(poll.replace('\r\n\r\n', '\r\nContent-Length: 0\r\n\r\n'))
      assert.equal((await wire.answer()).status, 200)
      wire.close()
    })

    test('raw bytes in a path or a query do no harm', async () => {
      const wire = await Wire.open(edge.port)
      await wire.send(`GET /metadata/channel/\xe4.json HTTP/1.1\r\n${host}\r\n`)
      assert.equal((await wire.answer()).status, 404)
      await wire.send(`GET /metadata/channel/a.txt?\xe4=%\xff HTTP/1.1\r\n${host}\r\n`)
      assert.equal((await wire.answer()).status, 200)
      wire.close()
    })

    test('a request head of 4 KiB passes, one far over it ends its connection and nothing else', async () => {
      const padded = (bytes: number) =>
        poll.replace('\r\n\r\n', `\r\nX: ${'x'.repeat(bytes - poll.length - 5)}\r\n\r\n`)
      const wire = await Wire.open(edge.port)
      const fits = padded(4_000)
      await wire.send(fits.slice(0, 2_000), fits.slice(2_000))
      assert.equal((await wire.answer()).status, 200)
      const over = padded(6_000)
      await wire.send(over.slice(0, 3_000), over.slice(3_000))
      assert.doesNotMatch(await wire.rest(), /^HTTP\/1\.1 200/)
      assert.equal((await fetch(`${edge.url}/metadata/channel/a.txt`)).status, 200)
    })

    test('a client that goes while its key is looked up does no harm', async () => {
      const gone = Array.from({ length: 20 }, async (_, at) => {
        const wire = await Wire.open(edge.port)
        wire.socket.write(poll.replace('channel/a', `channel/gone${at}`))
        await new Promise(turn => setImmediate(turn))
        wire.close()
      })
      await Promise.all(gone)
      assert.equal((await fetch(`${edge.url}/metadata/channel/a.txt`)).status, 200)
    })

    test('a port that another program holds is one clear line; edges share theirs where they are to', async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const address = other.address()
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0
      await assert.rejects(world.edge({ uws, settings: { edgePort: port } }), (error: Error) => {
        assert.ok(error instanceof StartError)
        assert.match(error.message, new RegExp(`^the edge cannot listen on 127\\.0\\.0\\.1:${port}: .*$`))
        return true
      })
      other.close()
      await assert.rejects(world.edge({ uws, settings: { edgePort: edge.port } }), {
        name: 'StartError',
        message: `the edge cannot listen on 127.0.0.1:${edge.port}: the port is in use (--share-edge-port shares it with another nownext)`,
      })
      const second = await world.edge({ uws, settings: { edgePort: edge.port, shareEdgePort: true } })
      assert.equal(second.port, edge.port)
    })

    test('TLS, and certificates that do not serve', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'nownext-tls-'))
      const [tlsCert, tlsKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
      execFileSync(
        'openssl',
        [
          ...[
            'req',
            '-x509',
            '-newkey',
            'ec',
            '-pkeyopt',
            'ec_paramgen_curve:prime256v1',
            '-nodes',
            '-days',
            '2',
          ],
          ...['-subj', '/CN=localhost', '-keyout', tlsKey, '-out', tlsCert],
        ],
        { stdio: 'ignore' },
      )
      const { port } = await world.edge({ uws, settings: { tlsCert, tlsKey } })
      const sent = request({
        port,
        host: '127.0.0.1',
        path: '/metadata/channel/a.txt',
        rejectUnauthorized: false,
      })
      sent.end()
      const [answer] = await once(sent, 'response')
      assert.equal(answer.statusCode, 200)
      answer.resume()
      for (const settings of [
        { tlsCert, tlsKey: undefined },
        { tlsCert, tlsKey: join(folder, 'missing.pem') },
        { tlsCert: tlsKey, tlsKey },
      ])
        await assert.rejects(world.edge({ uws, settings }), StartError)
      rmSync(folder, { recursive: true })
    })
  })
}
