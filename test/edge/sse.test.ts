// Server-sent events (rule 26), on each build of the library that loads here.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plainChannel } from '../../src/domain/registry.ts'
import { loadableUws } from '../../src/edge/uws.ts'
import { encodePosition } from '../../src/log/position.ts'
import { EventClient } from './event-source.ts'
import { Wire } from './wire.ts'
import { count, createWorld, Listener, type TestEdge, until, type World } from './world.ts'

let world: World
let edge: TestEdge
before(async () => {
  world = await createWorld()
})
after(() => world.close())

const streams = async (of = edge) => (await of.metrics.edgeStreams.get()).values[0]?.value
const open = (path: string, lastEventId?: string) =>
  EventClient.open(`${edge.url}/metadata/sse/${path}`, lastEventId)

for (const uws of loadableUws()) {
  describe(`server-sent events on ${uws.name} ${uws.version}`, () => {
    before(async () => {
      await world.show('a', { song: 'A' }, { song: 'A next' }, ['next', 'now'])
      await world.show('c', { song: 'C' }, null, ['now'])
      edge = await world.edge({ uws })
    })

    test('the bytes of the WebSocket: the state, then every change; id is the position', async () => {
      const client = await open('channel/a')
      const socket = await Listener.open(`${edge.url}/metadata/channel/a`)
      await client.records(2)
      await socket.records(2)
      await world.show('a', { song: 'A2' }, 'gone', ['next', 'now'])
      await client.records(4)
      await socket.records(4)
      assert.deepEqual(
        client.events.map(({ data }) => data),
        socket.messages,
      )
      for (const { id, data } of client.events) assert.equal(id, JSON.parse(data).position)
      assert.equal(client.status, 200)
      const { headers } = client
      assert.equal(headers['content-type'], 'text/event-stream')
      assert.equal(headers['cache-control'], 'no-cache')
      assert.equal(headers['connection'], 'close')
      assert.equal(headers['x-accel-buffering'], 'no')
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.ok(client.retryMs !== undefined && client.retryMs >= 1_000 && client.retryMs <= 4_000)
      client.close()
      socket.ws.close()
      await until(async () => (await streams()) === 0)
    })

    test('Last-Event-ID resumes, before ?after=; a malformed one counts as foreign', async () => {
      const first = await world.show('a', { song: '1' }, null, ['now'])
      const second = await world.show('a', { song: '2' }, null, ['now'])
      const third = await world.show('a', { song: '3' }, null, ['now'])
      await until(async () =>
        (await (await fetch(`${edge.url}/metadata/channel/a.txt`)).text()).includes('3'),
      )
      const both = await open(`channel/a?after=${first.now.position}`, second.now.position)
      assert.deepEqual((await both.records(1))[0]?.['song'], '3')
      const query = await open(`channel/a?after=${first.now.position}`)
      assert.deepEqual((await query.records(2)).at(-1)?.['song'], '3')
      for (const asked of ['no position', encodePosition('0a0b0c0d', { sequence: 1, slot: 1 })]) {
        const foreign = await open('channel/a', asked)
        const [gap] = await foreign.records(2)
        assert.deepEqual(gap, { type: 'gap', from: asked, to: third.now.position })
        assert.deepEqual(
          foreign.events.map(({ id }) => id),
          [undefined, third.now.position],
        )
        foreign.close()
      }
      const wrong = await open('channel/a?after=abc')
      assert.equal(wrong.status, 400)
      for (const client of [both, query]) client.close()
    })

    test('a station, a selection, a listener; nothing shown yet stays open and silent', async () => {
      await world.registry.putChannel(plainChannel('quiet', 'one'))
      const [station, nexts, listener, quiet] = await Promise.all([
        open('station/one'),
        open('station/one?type=next'),
        open('listener/me'),
        open('channel/quiet'),
      ])
      const before = station.events.length
      const { next } = await world.show('a', { song: '3' }, { song: 'n' }, ['next'])
      assert.equal((await nexts.records(1))[0]?.['position'], next.position)
      await until(() => station.events.at(-1)?.id === next.position)
      assert.ok(station.events.length > before)
      for (const { status, events } of [listener, quiet]) assert.deepEqual([status, events], [200, []])
      await world.show('quiet', { song: 'Q' }, null, ['now'])
      assert.equal((await quiet.records(1))[0]?.['song'], 'Q')
      for (const client of [station, nexts, listener, quiet]) client.close()
      await world.marker('quiet')
    })

    test('comments come again and again, also where nothing else does', async () => {
      const often = await world.edge({ uws, commentMs: 100 })
      const client = await EventClient.open(`${often.url}/metadata/sse/listener/nobody`)
      await client.comment(3)
      assert.deepEqual(client.events, [])
      client.close()
    })

    for (const [path, status] of [
      ['channel/zz', 404],
      ['station/zz', 404],
      ['channel/a/b', 404],
      ['channel/a?type=all', 400],
      ['listener/..%2f', 404],
    ] as const)
      test(`${path}: ${status}`, async () => {
        const answer = await fetch(`${edge.url}/metadata/sse/${path}`)
        assert.equal(answer.status, status)
        assert.equal(answer.headers.get('content-type'), 'application/problem+json')
        await answer.arrayBuffer()
      })

    test('HEAD, OPTIONS, POST; HEAD opens nothing', async () => {
      const wire = await Wire.open(edge.port)
      await wire.send('HEAD /metadata/sse/channel/a HTTP/1.1\r\nHost: x\r\n\r\n')
      const head = await wire.answer({ bodiless: true })
      assert.equal(head.status, 200)
      assert.equal(head.headers.get('content-type'), 'text/event-stream')
      await wire.send('OPTIONS /metadata/sse/channel/a HTTP/1.1\r\nHost: x\r\n\r\n')
      assert.equal((await wire.answer()).status, 204)
      wire.close()
      const post = await fetch(`${edge.url}/metadata/sse/channel/a`, { method: 'POST' })
      assert.equal(post.status, 405)
      assert.equal(await streams(), 0)
    })

    test('counted together with sockets: as many as may be, and one more: 503', async () => {
      const small = await world.edge({ uws, settings: { maxSockets: 2 } })
      const url = `${small.url}/metadata/sse/channel/a`
      const first = await EventClient.open(url)
      const second = await Listener.open(`${small.url}/metadata/channel/a`)
      const refused = await EventClient.open(url)
      assert.equal(refused.status, 503)
      assert.equal(refused.headers['retry-after'], '5')
      assert.equal(await count(small.metrics.edgeRejected, 'sockets'), 1)
      first.close()
      await until(async () => (await streams(small)) === 0)
      const third = await EventClient.open(url)
      assert.equal(third.status, 200)
      third.close()
      second.ws.close()
    })

    test('a client that does not read is cut and counted, and has no gap before that', async () => {
      const extra = 'x'.repeat(60_000)
      const slow = await open('channel/c')
      const quick = await open('channel/c')
      await slow.records(1)
      slow.pause()
      let sent = 0
      while ((await count(edge.metrics.edgeClosed, 'slow')) === 0)
        await world.show('c', { song: `${sent++}`, extra }, null, ['now'])
      const isEnded = slow.over
      slow.resume()
      assert.equal(await isEnded, false)
      await quick.records(sent + 1)
      const songs = (client: EventClient) =>
        client.events.slice(1).map(({ data }) => Number(JSON.parse(data).song))
      assert.deepEqual(songs(quick), [...Array(sent).keys()])
      assert.deepEqual(songs(slow), [...songs(slow).keys()])
      quick.close()
    })

    test('one that reads on in time gets everything, a replay beyond all buffers too', async () => {
      const extra = 'y'.repeat(60_000)
      const { now } = await world.show('c', { song: 'start' }, null, ['now'])
      for (let at = 0; at < 120; at++) await world.show('c', { song: `${at}`, extra }, null, ['now'])
      const client = await open('channel/c', now.position)
      client.pause()
      for (let at = 120; at < 123; at++) await world.show('c', { song: `${at}`, extra }, null, ['now'])
      await until(async () =>
        (await (await fetch(`${edge.url}/metadata/channel/c.txt`)).text()).endsWith('122'),
      )
      client.resume()
      const records = await client.records(123)
      assert.deepEqual(
        records.map(({ song }) => Number(song)),
        [...Array(123).keys()],
      )
      client.close()
      await world.show('c', { song: 'C' }, null, ['now'])
    })

    test('a loop of resumes is refused: 429 with Retry-After, counted', async () => {
      const last = encodePosition(world.topology.incarnation, { sequence: world.sequence(), slot: 1 })
      let status = 200
      while (status === 200) {
        const client = await open('channel/a', last)
        status = client.status
        client.close()
      }
      assert.equal(status, 429)
      assert.ok((await count(edge.metrics.edgeRejected, 'resumes')) > 0)
      const other = await open('channel/c', last)
      assert.equal(other.status, 200)
      other.close()
    })

    test('a deleted channel: the stream ends, the next connection is 404', async () => {
      await world.registry.putChannel(plainChannel('gone', 'one'))
      await world.show('gone', { song: 'G' }, null, ['now'])
      const client = await open('channel/gone')
      await client.records(1)
      await world.registry.removeChannel('gone')
      assert.equal(await client.over, true)
      assert.equal((await open('channel/gone')).status, 404)
      assert.equal(await count(edge.metrics.edgeClosed, 'deleted'), 1)
      await world.marker('gone')
    })

    test('drain: streams end, spread like sockets; a client that vanished is not waited for', async () => {
      const { edge: draining, url, metrics } = await world.edge({ uws, settings: { drain: 0.3 } })
      const clients = await Promise.all(
        Array.from({ length: 20 }, () => EventClient.open(`${url}/metadata/sse/channel/a`)),
      )
      const endedAt: number[] = []
      for (const client of clients) void client.over.then(() => endedAt.push(performance.now()))
      await draining.drain()
      assert.deepEqual(
        await Promise.all(clients.map(client => client.over)),
        clients.map(() => true),
      )
      const spreadMs = (endedAt.at(-1) ?? 0) - (endedAt[0] ?? 0)
      assert.ok(spreadMs > 100 && spreadMs < 2_000, `spread over ${spreadMs} ms`)
      assert.equal(await count(metrics.edgeClosed, 'shutdown'), 20)
      assert.equal((await metrics.edgeStreams.get()).values[0]?.value, 0)
      await draining.stop()
    })
  })
}
