import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { plainChannel } from '../../src/domain/registry.ts'
import { loadableUws } from '../../src/edge/uws.ts'
import { encodePosition } from '../../src/log/position.ts'
import { count, createWorld, Listener, refusal, type TestEdge, until, type World } from './world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

const brief = (records: Array<Record<string, unknown>>) =>
  records.map(({ channelkey, type, song }) => `${channelkey} ${type} ${song}`)

for (const uws of loadableUws()) {
  describe(`sockets on ${uws.name} ${uws.version}`, () => {
    let edge: TestEdge
    const listen = (path: string) => Listener.open(`${edge.url}/metadata/${path}`)

    before(async () => {
      for (const key of ['b', 'c']) await world.marker(key)
      await world.show('a', { song: 'A' }, { song: 'A next' }, ['next', 'now'])
      edge = await world.edge({ uws })
    })

    test('the state at once, next before now, then every change in the order of send (rule 24)', async () => {
      const all = await listen('channel/a')
      const now = await listen('channel/a?type=now')
      const next = await listen('channel/a?type=next&x=y')
      await all.records(2)
      await now.records(1)
      await next.records(1)
      await world.show('a', { song: 'A2' }, 'gone', ['next', 'now'])
      await world.show('a', { song: 'A2' }, { song: 'A3' }, ['next'])
      await world.show('a', { song: 'A2' }, { song: 'A3' }, [])
      await world.show('a', { song: 'A3' }, null, ['now'])
      assert.deepEqual(brief(await all.records(6)), [
        'a next A next',
        'a now A',
        'a next ',
        'a now A2',
        'a next A3',
        'a now A3',
      ])
      assert.deepEqual(brief(await now.records(3)), ['a now A', 'a now A2', 'a now A3'])
      assert.deepEqual(brief(await next.records(3)), ['a next A next', 'a next ', 'a next A3'])
      for (const { ws } of [all, now, next]) ws.close()
    })

    test('live, snapshot and poll are the same bytes; the empty record is in no snapshot (rule 16)', async () => {
      const live = await listen('channel/a')
      await live.records(1)
      const shown = await world.show('a', { song: 'A4' }, 'gone', ['next', 'now'])
      await live.records(3)
      const snapshot = await listen('channel/a')
      await snapshot.records(1)
      const poll = await (await fetch(`${edge.url}/metadata/channel/a.json`)).text()
      assert.equal(snapshot.messages[0], live.messages[2])
      assert.equal(snapshot.messages[0], poll)
      assert.equal(JSON.parse(poll).position, shown.now.position)
      assert.equal((await fetch(`${edge.url}/metadata/channel/a.json?type=next`)).status, 204)
      for (const { ws } of [live, snapshot]) ws.close()
    })

    test('a station: channel by channel in ascending position, then every change of its channels', async () => {
      await world.show('b', { song: 'B' }, { song: 'B next' }, ['next', 'now'])
      await world.show('a', { song: 'A5' }, null, ['now'])
      await world.show('c', { song: 'C' }, null, ['now'])
      await until(async () => (await fetch(`${edge.url}/metadata/channel/c.json`)).status === 200)
      const one = await listen('station/one')
      const nexts = await listen('station/one?type=next')
      assert.deepEqual(brief(await one.records(3)), ['b next B next', 'b now B', 'a now A5'])
      await world.show('c', { song: 'C2' }, null, ['now'])
      await world.show('b', { song: 'B2' }, 'gone', ['next', 'now'])
      assert.deepEqual(brief((await one.records(5)).slice(3)), ['b next ', 'b now B2'])
      assert.deepEqual(brief(await nexts.records(2)), ['b next B next', 'b next '])
      const again = await listen('station/one')
      assert.deepEqual(brief(await again.records(2)), ['a now A5', 'b now B2'])
      for (const { ws } of [one, nexts, again]) ws.close()
    })

    test('a channel that moves is told to the station that its record names', async () => {
      const two = await listen('station/two')
      await two.records(1)
      await world.show('a', { song: 'moved', station: 'two' }, null, ['now'])
      assert.deepEqual(brief(await two.records(2)).at(-1), 'a now moved')
      await world.show('a', { song: 'back' }, null, ['now'])
      await world.show('c', { song: 'C3' }, null, ['now'])
      assert.deepEqual(brief(await two.records(3)).at(-1), 'c now C3')
      two.ws.close()
    })

    test('a listener: accepted, silent; a resume position is checked', async () => {
      const listener = await listen('listener/me.json')
      const position = encodePosition('0a0b0c0d', { sequence: 1, slot: 1 })
      const resumed = await listen(`channel/a?after=${position}`)
      await resumed.records(1)
      assert.deepEqual(listener.messages, [])
      for (const { ws } of [listener, resumed]) ws.close()
    })

    const refusals: Array<[path: string, status: number, code: string]> = [
      ['channel/zz', 404, 'unknown-channel'],
      ['channel/a.json', 404, 'unknown-channel'],
      ['channel/%61', 404, 'unknown-channel'],
      ['station/zz', 404, 'unknown-station'],
      ['listener/..', 404, 'not-found'],
      ['channel/a/b', 404, 'not-found'],
      ['other/a', 404, 'not-found'],
      ['channel/a?type=all', 400, 'type'],
      ['station/one?type=', 400, 'type'],
      ['channel/a?after=abc', 400, 'after'],
      ['listener/x?after=', 400, 'after'],
    ]
    for (const [path, status, code] of refusals) {
      test(`an upgrade to ${path} is refused: ${status} ${code}`, async () => {
        const { status: got, body } = await refusal(`${edge.url}/metadata/${path}`)
        assert.equal(got, status)
        const { code: problem, errors } = body as { code: string; errors?: Array<{ field: string }> }
        assert.equal(errors?.[0]?.field ?? problem, code)
      })
    }

    test('a channel made after the start takes sockets at once', async () => {
      const key = `new-${uws.version.replaceAll('.', '-')}`
      await world.registry.putChannel(plainChannel(key, 'one'))
      const listener = await listen(`channel/${key}`)
      await world.show(key, { song: 'first' }, null, ['now'])
      await listener.records(1)
      listener.ws.close()
      await world.marker(key)
    })

    test('what a client sends is ignored up to 1 KiB; one byte more: 1009', async () => {
      const { ws } = await listen('channel/a')
      const closed = new Promise<number>(resolve => ws.on('close', resolve))
      ws.send('x'.repeat(1024))
      ws.send(Buffer.alloc(1024))
      const pong = new Promise(resolve => ws.on('pong', resolve))
      ws.ping()
      await pong
      assert.equal(ws.readyState, WebSocket.OPEN)
      ws.send('x'.repeat(1025))
      assert.equal(await closed, 1009)
      const far = await listen('channel/a')
      const cut = far.closed()
      far.ws.send('x'.repeat(20_000))
      assert.equal((await cut).code, 1006)
      assert.equal(await count(edge.metrics.edgeClosed, 'too-long'), 2)
    })

    test('as many sockets as may be, and one more: 503, counted', async () => {
      const small = await world.edge({ uws, settings: { maxSockets: 2 } })
      const url = `${small.url}/metadata/channel/a`
      const [first, second] = [await Listener.open(url), await Listener.open(url)]
      const { status, body } = await refusal(url)
      assert.equal(status, 503)
      assert.equal(body['code'], 'busy')
      assert.equal(await count(small.metrics.edgeRejected, 'sockets'), 1)
      first.ws.close()
      await until(async () => (await small.metrics.edgeSockets.get()).values[0]?.value === 1)
      const third = await Listener.open(url)
      for (const { ws } of [second, third]) ws.close()
    })

    test('a deleted channel: its sockets 4404, counted; made anew it works, and a late marker closes nobody', async () => {
      await world.registry.putChannel(plainChannel('gone', 'one'))
      await world.show('gone', { song: 'G' }, null, ['now'])
      const old = await Promise.all(
        ['', '?type=now', '?type=next'].map(query => listen(`channel/gone${query}`)),
      )
      const station = await listen('station/one')
      const closings = old.map(listener => listener.closed())
      await world.registry.removeChannel('gone')
      for (const { code, reason } of await Promise.all(closings)) {
        assert.equal(code, 4404)
        assert.equal(reason, 'channel deleted')
      }
      assert.equal(await count(edge.metrics.edgeClosed, 'deleted'), 3)
      assert.equal((await refusal(`${edge.url}/metadata/channel/gone`)).status, 404)
      await world.registry.putChannel(plainChannel('gone', 'one'))
      const fresh = await listen('channel/gone')
      await world.marker('gone')
      await world.show('gone', { song: 'H' }, null, ['now'])
      assert.deepEqual(brief(await fresh.records(1)), ['gone now H'])
      assert.equal(station.ws.readyState, WebSocket.OPEN)
      for (const { ws } of [fresh, station]) ws.close()
      await world.marker('gone')
      await world.registry.removeChannel('gone')
    })

    test('a value that cannot be read is skipped and counted; the last one stays', async () => {
      await world.write('a', '{"v":99}')
      await world.write('a', 'no json')
      await until(async () => (await edge.metrics.edgeSkipped.get()).values[0]?.value === 2)
      assert.equal((await fetch(`${edge.url}/metadata/channel/a.json`)).status, 200)
    })
  })
}
