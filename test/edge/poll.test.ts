import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { loadableUws } from '../../src/edge/uws.ts'
import { createWorld, type TestEdge, until, type World } from './world.ts'

/** Rule 23: on every answer, errors too. */
const commonHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Link, Retry-After',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

type Json = Record<string, unknown>

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

for (const uws of loadableUws()) {
  describe(`polling on ${uws.name} ${uws.version}`, () => {
    let edge: TestEdge
    let shown: Awaited<ReturnType<World['show']>>
    const get = (path: string, init: RequestInit = {}) => fetch(`${edge.url}${path}`, init)
    const json = async (path: string) => (await (await get(path)).json()) as Json
    const list = async (path: string) => (await (await get(path)).json()) as Json[]

    before(async () => {
      await world.marker('a')
      await world.marker('c')
      shown = await world.show('b', { artist: 'Ä', song: '"Ö"', extra: 'x' }, { song: 'Later' }, [
        'next',
        'now',
      ])
      edge = await world.edge({ uws })
    })

    test('a channel: the now record, byte for byte; next; both, now first (rule 21)', async () => {
      const { position } = await json('/metadata/channel/b.json')
      assert.equal(position, shown.now.position)
      const { extdata, ...rest } = await json('/metadata/channel/b.json')
      assert.deepEqual(extdata, { extra: 'x' })
      assert.deepEqual({ ...rest, extdata: '{"extra":"x"}' }, shown.now)
      assert.deepEqual(await json('/metadata/channel/b.json?type=next'), shown.next)
      const both = await list('/metadata/channel/b.json?type=all')
      assert.deepEqual(
        both.map(record => record.type),
        ['now', 'next'],
      )
      assert.deepEqual(
        await json('/metadata/channel/b.json?type=now'),
        await json('/metadata/channel/b.json'),
      )
    })

    test('text: artist, separator, song (rule 22)', async () => {
      const answer = await get('/metadata/channel/b.txt')
      assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
      assert.equal(await answer.text(), 'Ä - "Ö"')
      assert.equal(await (await get('/metadata/channel/b.txt?type=next')).text(), 'Artist - Later')
      assert.equal((await get('/metadata/channel/b.txt?type=all')).status, 400)
    })

    test('a station: an array of its channels, ordered by channelkey, [] if none', async () => {
      assert.deepEqual(await list('/metadata/station/two.json'), [])
      await world.show('a', { song: 'A' }, null, ['now'])
      await world.show('c', { song: 'C' }, null, ['now'])
      const songs = async (query: string) =>
        (await list(`/metadata/station/one.json${query}`)).map(record => record.song)
      await until(async () => (await list('/metadata/station/two.json')).length === 1)
      assert.deepEqual(await songs(''), ['A', '"Ö"'])
      assert.deepEqual(await songs('?type=next'), ['Later'])
      assert.deepEqual(await songs('?type=all'), ['A', '"Ö"', 'Later'])
      const before = (await get('/metadata/station/one.json')).headers.get('etag')
      const same = await get('/metadata/station/one.json', { headers: { 'if-none-match': String(before) } })
      assert.equal(same.status, 304)
      await world.show('a', { song: 'A2' }, null, ['now'])
      await until(async () => (await songs(''))[0] === 'A2')
      assert.notEqual((await get('/metadata/station/one.json')).headers.get('etag'), before)
    })

    test('a record belongs to the station that it names', async () => {
      await world.show('c', { song: 'moved', station: 'one' }, { station: 'two', song: 'stays' }, ['now'])
      await until(async () => (await list('/metadata/station/two.json')).length === 0)
      const songs = (records: Json[]) => records.map(({ song }) => song)
      assert.deepEqual(songs(await list('/metadata/station/two.json?type=all')), ['stays'])
      assert.deepEqual(songs(await list('/metadata/station/one.json?type=all')).at(-1), 'moved')
    })

    test('what is known but not shown: 204 without a body, never kept (rule 20)', async () => {
      await world.registry.putChannel({ ...(await channel('b')), key: 'silent' })
      for (const path of [
        '/metadata/channel/silent.json',
        '/metadata/channel/silent.txt',
        '/metadata/channel/silent.json?type=all',
        '/metadata/channel/a.json?type=next',
        '/metadata/channel/a.txt?type=next',
        '/metadata/listener/l.1.json',
        '/metadata/listener/anything~.txt',
      ]) {
        const answer = await get(path)
        assert.equal(answer.status, 204, path)
        assert.equal(answer.headers.get('cache-control'), 'no-store')
        assert.equal(await answer.text(), '')
        assertHeaders(answer, commonHeaders)
      }
    })

    const problems: Array<[path: string, status: number, code: string]> = [
      ['/metadata/channel/zz.json', 404, 'unknown-channel'],
      ['/metadata/channel/B.json', 404, 'unknown-channel'],
      ['/metadata/channel/%62.json', 404, 'unknown-channel'],
      ['/metadata/channel/b%2ejson', 404, 'not-found'],
      [`/metadata/channel/${'k'.repeat(65)}.json`, 404, 'unknown-channel'],
      ['/metadata/channel/b.xml', 404, 'not-found'],
      ['/metadata/channel/b', 404, 'not-found'],
      ['/metadata/channel/b.json/', 404, 'not-found'],
      ['/metadata/channel/.json', 404, 'not-found'],
      ['/metadata/station/zz.json', 404, 'unknown-station'],
      ['/metadata/station/one.txt', 404, 'not-found'],
      ['/metadata/listener/...json', 404, 'not-found'],
      [`/metadata/listener/${'m'.repeat(129)}.json`, 404, 'not-found'],
      ['/', 404, 'not-found'],
      ['/metadata/channel/b.json?type=', 400, 'invalid'],
      ['/metadata/channel/b.json?type=both', 400, 'invalid'],
      ['/metadata/channel/b.json?type=NOW', 400, 'invalid'],
      ['/metadata/station/one.json?type=x', 400, 'invalid'],
      ['/metadata/channel/b.txt?x=1&type=all', 400, 'invalid'],
    ]
    for (const [path, status, code] of problems) {
      test(`${path.slice(0, 60)}: ${status} ${code} (rules 20 and 29)`, async () => {
        const answer = await get(path)
        assert.equal(answer.status, status)
        assertHeaders(answer, {
          ...commonHeaders,
          'content-type': 'application/problem+json',
          'cache-control': 'no-store',
        })
        const problem = (await answer.json()) as Json & { errors: Json[] }
        assert.equal(problem.code, code)
        assert.equal(problem.status, status)
        assert.equal('instance' in problem, false)
        if (status === 400) assert.equal(problem.errors[0]?.['field'], 'type')
      })
    }

    test('other parameters are ignored, an escaped value is read, of a repeated one the last', async () => {
      for (const query of ['?_=1764280000', '?', '?&&', '?type=%6eow', '?type=x&type=now', '?a=%zz&after=x'])
        assert.equal((await get(`/metadata/channel/b.json${query}`)).status, 200, query)
    })

    test('the ETag is made from the bytes, equal on all edges, new with every change (rule 23)', async () => {
      const other = await world.edge({ uws })
      const etagOf = async (url: string) => (await fetch(url)).headers.get('etag')
      const path = '/metadata/channel/b.json'
      const etag = String(await etagOf(edge.url + path))
      assert.match(etag, /^"[\w-]{16,}"$/)
      assert.equal(await etagOf(other.url + path), etag)
      await world.show('b', { artist: 'Ä', song: '"Ö"', extra: 'x' }, { song: 'Other' }, ['next'])
      await until(async () => (await etagOf(edge.url + path)) !== etag)
      await until(async () => (await etagOf(edge.url + path)) === (await etagOf(other.url + path)))
    })

    test('If-None-Match: one, lists, weak, any; 304 without a body', async () => {
      const fresh = await get('/metadata/channel/b.json')
      const etag = String(fresh.headers.get('etag'))
      assertHeaders(fresh, {
        ...commonHeaders,
        'content-type': 'application/json',
        'cache-control': 'public, max-age=1',
      })
      for (const value of [etag, `"x", ${etag}`, `W/${etag}`, '*', `"a,b" , W/${etag},"c"`]) {
        const answer = await get('/metadata/channel/b.json', { headers: { 'if-none-match': value } })
        assert.equal(answer.status, 304, value)
        assertHeaders(answer, { ...commonHeaders, etag, 'cache-control': 'public, max-age=1' })
        assert.equal(await answer.text(), '')
      }
      for (const value of ['"x"', etag.replaceAll('"', ''), '', 'W/'])
        assert.equal(
          (await get('/metadata/channel/b.json', { headers: { 'if-none-match': value } })).status,
          200,
        )
    })

    test('other methods: 405 with Allow; OPTIONS: any header may be asked for', async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const answer = await get('/metadata/channel/b.json', { method })
        assert.equal(answer.status, 405, method)
        assertHeaders(answer, { ...commonHeaders, allow: 'GET, HEAD, OPTIONS', 'cache-control': 'no-store' })
      }
      const preflight = await get('/metadata/channel/b.json', { method: 'OPTIONS' })
      assert.equal(preflight.status, 204)
      assertHeaders(preflight, {
        ...commonHeaders,
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-allow-headers': '*, Authorization',
        'access-control-max-age': '86400',
      })
    })

    test('a channel made after the start is found at once', async () => {
      const key = `late-${uws.version.replaceAll('.', '-')}`
      assert.equal((await get(`/metadata/channel/${key}.json`)).status, 404)
      await world.registry.putChannel({ ...(await channel('b')), key: `${key}2` })
      assert.equal((await get(`/metadata/channel/${key}2.json`)).status, 204)
    })

    test('polls are counted by status, each once, however often the count is asked for', async () => {
      const counted = async (status: number) => {
        const line = new RegExp(`^nownext_edge_polls_total\\{status="${status}"\\} (\\d+)$`, 'm')
        return Number(line.exec(await edge.metrics.registry.metrics())?.[1] ?? 0)
      }
      const before = { ok: await counted(200), unknown: await counted(404) }
      await get('/metadata/channel/b.txt')
      assert.equal(await counted(200), before.ok + 1)
      await get('/metadata/channel/b.txt')
      await get('/metadata/channel/unknown.txt')
      assert.equal(await counted(200), before.ok + 2)
      assert.equal(await counted(404), before.unknown + 1)
    })

    test('a deleted channel is unknown; made anew, it is silent until something is shown', async () => {
      const entry = await channel('b')
      await world.registry.removeChannel('b')
      await until(async () => (await get('/metadata/channel/b.json')).status === 404)
      await world.registry.putChannel(entry)
      await until(async () => (await get('/metadata/channel/b.json')).status === 204)
      await world.marker('b')
      const { now } = await world.show('b', { song: 'again' }, null, ['now'])
      await until(async () => (await get('/metadata/channel/b.json')).status === 200)
      assert.equal((await json('/metadata/channel/b.json')).position, now.position)
    })

    async function channel(key: string) {
      const entry = await world.registry.findChannel(key)
      assert.ok(entry)
      return entry.value
    }
  })
}

function assertHeaders(answer: Response, wanted: Record<string, string>): void {
  for (const [name, value] of Object.entries(wanted)) assert.equal(answer.headers.get(name), value, name)
}
