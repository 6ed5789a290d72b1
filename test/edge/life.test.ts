// An edge's life: loading, the log away, draining; and what a fault of ours does.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, afterEach, before, describe, test } from 'node:test'
import { freePort } from '../../deploy/local/ports.ts'
import { plainChannel } from '../../src/domain/registry.ts'
import { maxLookups } from '../../src/edge/directory.ts'
import { loadableUws, loadUws } from '../../src/edge/uws.ts'
import { Registry } from '../../src/log/registry.ts'
import { createLog } from '../../src/observe/log.ts'
import { StartError } from '../../src/observe/service.ts'
import { Wire } from './wire.ts'
import { count, createWorld, Listener, refusal, until, type World } from './world.ts'

let world: World
before(async () => {
  world = await createWorld()
  await world.show('a', { song: 'A' }, null, ['now'])
})
// A test that fails while the log stands still must not hold up the next ones.
afterEach(() => world.nats.resume())
after(() => world.close())

test('the build of the library: the best that loads; one that does not is one clear line', context => {
  const [best] = loadableUws()
  assert.equal(loadUws().name, best?.name)
  if (best?.name === 'uWebSockets.js') return context.skip('upstream is installed here')
  assert.throws(
    () => loadUws('uWebSockets.js'),
    (error: Error) => error instanceof StartError && !error.message.includes('\n'),
  )
})

test('the registry unread: what is shown is served, the rest is looked up; what was removed meanwhile goes (rule 20)', async context => {
  const own = await createWorld()
  context.after(() => own.close())
  for (const key of ['a', 'b']) await own.show(key, { song: key }, null, ['now'])
  const { streams } = own.connection.jsm
  const { config } = await streams.info('KV_registry')
  await streams.delete('KV_registry')
  const registry = new Registry(own.connection)
  context.after(() => registry.stop())
  const { edge, url } = await own.edge({ registry })
  assert.deepEqual([edge.unready(), registry.isWhole], [null, false])
  const status = async (path: string) => (await fetch(`${url}/metadata/${path}`)).status
  assert.equal(await status('channel/a.json'), 200)
  assert.equal(await status('station/one.json'), 200)
  assert.equal(await status('station/one/history.json'), 503)
  const listener = await Listener.open(`${url}/metadata/channel/b`)
  await listener.records(1)

  await streams.add(config)
  // As another process of the service that was there before.
  const other = new Registry(own.connection)
  await other.start()
  context.after(() => other.stop())
  for (const key of ['b', 'a', 'silent']) await other.putChannel(plainChannel(key, 'one'))
  assert.equal(await status('channel/silent.json'), 204)
  const closed = listener.closed()
  await other.removeChannel('b')
  assert.equal((await closed).code, 4404)
  await until(() => registry.isWhole)
  assert.equal(await status('channel/a.json'), 200)
  assert.equal(await status('channel/b.json'), 404)
  assert.equal(await status('channel/a/history.json'), 200)
})

for (const uws of loadableUws()) {
  describe(`life on ${uws.name} ${uws.version}`, () => {
    test('not loaded yet: 503 with Retry-After, never 404; then it serves (rule 20)', async () => {
      const [early, late] = [await freePort(), await freePort()]
      world.nats.pause()
      const starting = world.edge({ uws, settings: { edgePort: early } })
      const startingLate = world.edge({ uws, bindWhenLoaded: true, settings: { edgePort: late } })
      const url = `http://127.0.0.1:${early}/metadata`
      const listens = () => fetch(url).then(Boolean, () => false)
      await until(listens)
      for (const path of ['channel/a.json', 'channel/zz.json', 'station/zz.json']) {
        const answer = await fetch(`${url}/${path}`)
        assert.equal(answer.status, 503, path)
        assert.equal(answer.headers.get('retry-after'), '1')
        assert.equal(((await answer.json()) as { code: string }).code, 'loading')
      }
      assert.equal((await refusal(`${url}/channel/zz`)).status, 503)
      assert.equal((await fetch(`${url}/other`)).status, 404)
      await assert.rejects(fetch(`http://127.0.0.1:${late}/metadata/channel/a.json`))
      world.nats.resume()
      const { edge } = await starting
      assert.equal(edge.unready(), null)
      assert.equal((await fetch(`${url}/channel/a.json`)).status, 200)
      await startingLate
      assert.equal((await fetch(`http://127.0.0.1:${late}/metadata/channel/a.json`)).status, 200)
    })

    test('the log away: what was shown is served on, what is unknown is not denied', async () => {
      const edge = await world.edge({ uws })
      world.nats.pause()
      const listener = await Listener.open(`${edge.url}/metadata/channel/a`)
      await listener.records(1)
      assert.equal((await fetch(`${edge.url}/metadata/station/one.json`)).status, 200)
      assert.equal(edge.edge.unready(), null)
      world.nats.resume()
      await world.show('a', { song: 'A2' }, null, ['now'])
      await listener.records(2)
      listener.ws.close()
    })

    test('as many look-ups at once as may be, and one more: 503, counted', async () => {
      const edge = await world.edge({ uws })
      world.nats.pause()
      const wires = await Promise.all(Array.from({ length: maxLookups }, () => Wire.open(edge.port)))
      const poll = (key: string) => `GET /metadata/channel/${key}.json HTTP/1.1\r\nHost: x\r\n\r\n`
      await Promise.all(wires.map((wire, at) => wire.send(poll(`${uws.version.length}unknown${at}`))))
      assert.equal(await count(edge.metrics.edgeRejected, 'lookups'), 0)
      const one = await fetch(`${edge.url}/metadata/channel/onemore.json`)
      assert.equal(one.status, 503)
      assert.equal(((await one.json()) as { code: string }).code, 'busy')
      assert.equal(await count(edge.metrics.edgeRejected, 'lookups'), 1)
      world.nats.resume()
      for (const wire of wires) {
        assert.equal((await wire.answer()).status, 404)
        wire.close()
      }
    })

    test('drain: nobody new, 1012 for all, spread over its time; then all is closed', async () => {
      const { edge, url, port, metrics } = await world.edge({ uws, settings: { drain: 0.3 } })
      const kept = await Wire.open(port)
      const listeners = await Promise.all(
        Array.from({ length: 30 }, () => Listener.open(`${url}/metadata/channel/a`)),
      )
      const closings = listeners.map(listener => listener.closed())
      const closedAt: number[] = []
      for (const { ws } of listeners) ws.on('close', () => closedAt.push(performance.now()))
      const drained = edge.drain()
      assert.equal(edge.unready(), 'draining')
      await assert.rejects(Wire.open(port))
      await kept.send('GET /metadata/channel/a.txt HTTP/1.1\r\nHost: x\r\n\r\n')
      const answer = await kept.answer()
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('connection'), 'close')
      assert.equal(await kept.rest(), '')
      await drained
      for (const { code, reason } of await Promise.all(closings)) {
        assert.equal(code, 1012)
        assert.equal(reason, 'shutting down')
      }
      const spread = (closedAt.at(-1) ?? 0) - (closedAt[0] ?? 0)
      assert.ok(spread > 150 && spread < 2_000, `spread over ${spread} ms`)
      assert.equal(await count(metrics.edgeClosed, 'shutdown'), 30)
      assert.equal((await metrics.edgeSockets.get()).values[0]?.value, 0)
      await edge.stop()
    })

    test('a fault of ours is a 500 and a line in the log, and the edge lives on', async () => {
      const lines: string[] = []
      const output = new Writable({
        write: (line, _encoding, done) => {
          lines.push(String(line))
          done()
        },
      })
      const log = createLog('error', output)
      const registry = new FaultyRegistry(world.connection)
      await registry.start()
      const { url } = await world.edge({ uws, log, registry })
      const answer = await fetch(`${url}/metadata/channel/faulty.json`)
      assert.equal(answer.status, 500)
      assert.equal(answer.headers.get('access-control-allow-origin'), '*')
      assert.doesNotMatch(await answer.text(), /a fault/)
      assert.equal((await refusal(`${url}/metadata/channel/faulty`)).status, 500)
      assert.equal(lines.length, 2)
      await registry.stop()
      assert.equal((await fetch(`${url}/metadata/channel/a.json`)).status, 200)
    })
  })
}

class FaultyRegistry extends Registry {
  override channel(key: string) {
    if (key === 'faulty') throw new Error('a fault')
    return super.channel(key)
  }
}
