// The history through an edge, from a log that was folded as the projector does it (rule 27).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type HistoryOption, plainChannel } from '../../src/domain/registry.ts'
import { History } from '../../src/log/history.ts'
import { encodePosition } from '../../src/log/position.ts'
import { defaultReadLimits, ReadBudget } from '../../src/log/read-budget.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { readCsv } from '../helpers/csv.ts'
import { FoldedLog } from '../helpers/folded.ts'
import { metricOf } from '../helpers/log.ts'
import { zeroMs } from '../helpers/story.ts'
import { count, createWorld, type TestEdge, until, type World } from './world.ts'

type Row = Record<string, unknown>

let world: World
let edge: TestEdge
let log: FoldedLog

const get = (path: string, init: RequestInit = {}) => fetch(`${edge.url}/metadata/${path}`, init)
const rows = async (path: string) => {
  const answer = await get(path)
  assert.equal(answer.status, 200, path)
  return (await answer.json()) as Row[]
}
const songs = async (path: string) => (await rows(path)).map(row => row['song'])

/** All pages from a path on. */
async function pages(path: string): Promise<Row[][]> {
  const found: Row[][] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer: Response = await get(next)
    assert.equal(answer.status, 200, next)
    found.push((await answer.json()) as Row[])
    const link = answer.headers.get('link')
    next = link === null ? undefined : /^<\/metadata\/([^>]+)>; rel="next"$/.exec(link)?.[1]
    assert.ok(link === null || next !== undefined, String(link))
  }
  return found
}

async function put(key: string, station: string, history: HistoryOption) {
  await world.registry.putChannel({ ...plainChannel(key, station), history })
}

/** The edge has seen all that was written: it began with nothing. */
const seen = () => until(async () => (await metricOf(edge.metrics.edgeChanges)) >= log.sequence)

/** `count` plays of a channel, three minutes apart, each announced and corrected; the story's second of the first. */
async function fill(key: string, count: number, from: number) {
  for (let number = 0; number < count; number++) {
    const at = from + number * 180
    await log.push('next', key, at - 30, `Artist - ${key} ${number}`)
    await log.now(key, at, `Artist - ${key} ${number}`, {
      id: `${key}-${number}`,
      etype: number % 2 ? 104 : 0,
    })
    await log.now(key, at + 5, `Artist - ${key} ${number}`, { album: 'Corrected' })
  }
  await seen()
}

before(async () => {
  world = await createWorld()
  log = new FoldedLog(world.connection, world.topology, 'one')
  await put('long', 'one', 'public')
  await put('b', 'one', 'public')
  await put('a', 'one', 'off')
  await put('c', 'two', 'recent')
  edge = await world.edge()
})
after(() => world.close())

test('nothing shown: an empty array, a header line; unknown keys and other paths: 404', async () => {
  assert.deepEqual(await rows('channel/c/history.json'), [])
  assert.equal((await (await get('channel/c/history.csv')).text()).split('\r\n').length, 2)
  assert.deepEqual(await rows('station/two/history.json'), [])
  for (const path of [
    'channel/x/history.json',
    'station/x/history.csv',
    'channel/b/history.txt',
    'listener/x/history.json',
  ])
    assert.equal((await get(path)).status, 404, path)
  assert.equal((await get('channel/b/history.json', { method: 'POST' })).status, 405)
  assert.equal((await get('channel/b/history.json', { method: 'OPTIONS' })).status, 204)
})

test('one row per play: the last fields, the first start; late ones not shown; played', async () => {
  await log.now('b', 0, 'Artist - One', { duration: 100 })
  await log.now('b', 30, 'Artist - One', { album: 'Mended', duration: 120 })
  await log.now('b', 60, 'Artist - One')
  await log.now('b', 200, 'Artist - Two', { time: 200, extdata: '{"big":12345678901234567890}' })
  await log.now('b', 210, 'Artist - Late', { time: 150 })
  await log.now('b', 245, 'Artist - Three', { externalid: '{"a":"1"}', id: 'three' })
  await seen()
  const [three, late, two, one, ...rest] = await rows('channel/b/history.json')
  assert.deepEqual(rest, [])
  assert.deepEqual([three?.['song'], three?.['played'], three?.['shown']], ['Three', null, true])
  assert.deepEqual(three?.['externalid'], { a: '1' })
  assert.deepEqual([late?.['song'], late?.['played'], late?.['shown']], ['Late', 0, false])
  assert.ok(late && !('reason' in late) && !('warnings' in late), 'they are for the operator')
  assert.deepEqual([two?.['song'], two?.['played'], two?.['album']], ['Two', 45, ''])
  assert.deepEqual([one?.['played'], one?.['album'], one?.['duration']], [120, 'Mended', 120])
  assert.equal(one?.['start_timestamp'], zeroMs / 1000)
  const text = await (await get('channel/b/history.json')).text()
  assert.match(text, /12345678901234567890/)
})

test('paging by position covers everything exactly once, whatever the size of a page', async () => {
  await fill('long', 70, 10_000)
  const all = await songs('channel/long/history.json?limit=1000')
  assert.deepEqual(
    all,
    Array.from({ length: 70 }, (_, index) => `long ${69 - index}`),
  )
  for (const limit of [1, 7, 20, 69, 70, 71]) {
    if (limit === 1) continue
    const found = (await pages(`channel/long/history.json?limit=${limit}`)).flat()
    assert.deepEqual(
      found.map(row => row['song']),
      all,
      `limit ${limit}`,
    )
    assert.deepEqual(
      found.slice(1).map(row => row['played']),
      Array(69).fill(180),
    )
    assert.ok(found.every(row => row['album'] === 'Corrected'))
  }
  assert.deepEqual(
    (await pages('channel/long/history.json?limit=20')).map(page => page.length),
    [20, 20, 20, 10],
  )
  assert.equal((await rows('channel/long/history.json')).length, 20)
})

test('a station: its channels in one order, each page going on where the last one ended', async () => {
  await log.now('b', 30_000, 'Artist - Four')
  await log.now('long', 30_010, 'Artist - Five')
  await seen()
  const all = (await rows('station/one/history.json?limit=1000')).map(row => row['song'])
  assert.deepEqual(all.slice(0, 3), ['Five', 'Four', 'long 69'])
  assert.deepEqual(all.slice(-4), ['Three', 'Late', 'Two', 'One'])
  assert.equal(all.length, 76)
  const found = (await pages('station/one/history.json?limit=9')).flat()
  assert.deepEqual(
    found.map(row => row['song']),
    all,
  )
  assert.equal(found.find(row => row['song'] === 'Three')?.['played'], 29_755)
})

test('from and to are compared with the start, both included, in every form of rule 7', async () => {
  const at = (number: number) => zeroMs / 1000 + 10_000 + number * 180
  const expected = ['long 42', 'long 41', 'long 40']
  const iso = (number: number) => new Date(at(number) * 1000).toISOString()
  for (const [from, to] of [
    [at(40), at(42)],
    [`${at(40)}000`, `${at(42)}999`],
    [iso(40), iso(42).toLowerCase()],
    [iso(40).replace('T', ' ').replace('Z', '+00:00'), iso(42).slice(0, 19)],
  ])
    assert.deepEqual(await songs(`channel/long/history.json?from=${from}&to=${to}`), expected)
  assert.deepEqual(await songs(`channel/long/history.json?to=${at(1) + 179}`), ['long 1', 'long 0'])
  assert.deepEqual(await songs(`channel/long/history.json?from=${at(69)}`), ['Five', 'long 69'])
  assert.deepEqual(await songs(`channel/long/history.json?from=${at(0) - 5000}&to=${at(0) - 1}`), [])
  assert.equal((await songs('channel/long/history.json?from=&to=0&limit=1000')).length, 71)
  const paged = (await pages(`station/one/history.json?from=${at(10)}&to=${at(39)}&limit=7`)).flat()
  assert.deepEqual(
    paged.map(row => row['song']),
    Array.from({ length: 30 }, (_, index) => `long ${39 - index}`),
  )
  assert.equal(paged[0]?.['played'], 180)
})

test('etype by number and name, source', async () => {
  assert.equal((await songs('channel/long/history.json?etype=News&limit=1000')).length, 35)
  assert.deepEqual(await songs('channel/long/history.json?etype=104&limit=2'), ['long 69', 'long 67'])
  const fallback = { song: 'Back soon', artist: '', afterSeconds: 10 }
  await log.now('long', 40_000, 'Artist - Six', { duration: 60 }, { fallback })
  await log.say('long', 40_070, { v: 1, kind: 'tick' })
  await log.now('long', 40_100, 'Artist - Seven')
  await seen()
  const [back] = await rows('channel/long/history.json?source=fallback')
  assert.deepEqual([back?.['song'], back?.['played'], back?.['source']], ['Back soon', 30, 'fallback'])
  const [seven, six] = await rows('channel/long/history.json?source=metapush')
  assert.deepEqual([seven?.['song'], six?.['song'], six?.['played']], ['Seven', 'Six', 60])
})

test('CSV comes back as it was said', async () => {
  const text = {
    artist: 'Ä, "B"',
    song: '=1+2',
    album: '-',
    isrc: 'DE1',
    id: 'a,b',
    etype: 1001,
    duration: 9,
  }
  await log.now('b', 50_000, '', { ...text, externalid: '"x,y"', extdata: '{"k":"v, \\"w\\"","n":1.0}' })
  await seen()
  const answer = await get('channel/b/history.csv?limit=1')
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
  const [header, row, ...rest] = readCsv(await answer.text())
  assert.equal(header?.join(), 'start,artist,song,album,isrc,duration,played,etype,id,externalid,extdata')
  assert.deepEqual(row, [
    '28.11.2026 08:53:20',
    text.artist,
    text.song,
    '-',
    'DE1',
    '9',
    '',
    '1001',
    'a,b',
    'x,y',
    '{"k":"v, \\"w\\"","n":1.0}',
  ])
  assert.deepEqual(rest, [])
})

test('the option: recent is the last 20 without extdata, off is 404 and no part of a station', async () => {
  assert.equal((await get('channel/a/history.json')).status, 404)
  await log.now('a', 60_000, 'Artist - Hidden')
  for (let number = 0; number < 30; number++)
    await log.now('c', 60_000 + number * 60, `Artist - c ${number}`, { extdata: '{"x":1}' })
  await seen()
  const expected = Array.from({ length: 20 }, (_, index) => `c ${29 - index}`)
  for (const path of ['channel/c/history.json?limit=1000', 'channel/c/history.json'])
    assert.deepEqual(await songs(path), expected)
  assert.ok((await rows('channel/c/history.json')).every(row => row['extdata'] === null))
  assert.deepEqual(
    (await pages('channel/c/history.json?limit=7')).flat().map(row => row['song']),
    expected,
  )
  assert.deepEqual(await songs(`channel/c/history.json?to=${zeroMs / 1000 + 60_000 + 5 * 60}`), [])
  await log.now('c', 70_000, 'Artist - moved', {}, { stationkey: 'two' })
  await until(async () => (await songs('station/two/history.json'))[0] === 'moved')
  assert.deepEqual(await songs('station/two/history.json'), ['moved'])
  assert.ok(!(await songs('station/one/history.json?limit=1000')).includes('Hidden'))
})

test('pages that end at their cost go further back each time, and end; before the first value is nothing', async t => {
  const { connection, topology } = world
  const channels = [
    { channelkey: 'c', recent: true },
    { channelkey: 'long', recent: false },
  ]
  const filter = { from: null, to: null, etype: null, source: 'metapush', stationkey: null } as const
  const historyOf = (values?: number) =>
    new History({
      connection,
      topology,
      budget: new ReadBudget(defaultReadLimits, createMetrics().historyReading),
      ...(values === undefined ? {} : { maxCost: { values, ms: 60_000 } }),
    })
  const [all, ...histories] = [undefined, 6, 40].map(historyOf)
  assert.ok(all)
  t.after(() => Promise.all([all, ...histories].map(history => history.close())))
  const { rows: expected, next: rest } = await all.page({ channels, filter, before: null, limit: 1000 })
  assert.equal(rest, null)
  for (const history of histories) {
    const found: number[] = []
    for (let before: number | null = null; ; ) {
      const { rows, next } = await history.page({ channels, filter, before, limit: 7 })
      found.push(...rows.map(({ sequence }) => sequence))
      if (next === null) break
      assert.ok(before === null || next < before, `${next} after ${before}`)
      before = next
    }
    const sequences = expected.map(({ sequence }) => sequence)
    assert.deepEqual(found, sequences.slice(0, found.length))
    // What the dearest of these pages costs is less than twice the last limit.
    if (history === histories.at(-1)) assert.equal(found.length, sequences.length)
  }
  assert.deepEqual(await all.page({ channels, filter, before: 1, limit: 7 }), { rows: [], next: null })
})

test('what is asked for again follows the log', async () => {
  for (let number = 0; number < 5; number++) {
    await log.now('b', 80_000 + number * 200, `Artist - follow ${number}`)
    await until(async () => (await songs('channel/b/history.json'))[0] === `follow ${number}`)
  }
  const [, before] = await rows('channel/b/history.json')
  assert.equal(before?.['played'], 200)
  assert.deepEqual(
    await songs('channel/b/history.json'),
    await songs('channel/b/history.json?limit=20&etype='),
  )
})

test('a channel that was deleted and made again begins anew, also by time and position', async () => {
  const [old] = await rows('channel/c/history.json')
  await log.say('c', 90_000, { v: 1, kind: 'delete', revision: 5 })
  await put('c', 'two', 'public')
  await log.now('c', 90_100, 'Artist - Reborn', {}, { revision: 7 })
  await until(async () => (await songs('channel/c/history.json'))[0] === 'Reborn')
  assert.deepEqual(await songs('channel/c/history.json'), ['Reborn'])
  assert.deepEqual(await songs(`channel/c/history.json?before=${old?.['position']}`), [])
  assert.deepEqual(await songs(`channel/c/history.json?to=${zeroMs / 1000 + 61_000}`), [])
})

test('ETag and 304, HEAD', async () => {
  const answer = await get('channel/b/history.json')
  const etag = String(answer.headers.get('etag'))
  assert.equal((await get('channel/b/history.json', { headers: { 'if-none-match': etag } })).status, 304)
  const head = await get('channel/b/history.json', { method: 'HEAD' })
  assert.equal(head.headers.get('content-length'), String((await answer.arrayBuffer()).byteLength))
})

describe('bad input: 400 naming the parameter', () => {
  const foreign = encodePosition('0badcafe', { sequence: 3, slot: 1 })
  for (const [query, ...fields] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=many', 'limit'],
    ['from=yesterday', 'from'],
    ['to=2026-13-01T00:00:00Z', 'to'],
    ['from=2026-11-27', 'from'],
    ['from=27.11.2026 10:00:00', 'from'],
    ['from=99999999999999', 'from'],
    ['from=20&to=19', 'from'],
    ['etype=Musik', 'etype'],
    ['etype=1.5', 'etype'],
    ['source=Fallback', 'source'],
    ['before=abc', 'before'],
    [`before=${foreign}`, 'before'],
    ['before=ZERO', 'before'],
    ['limit=x&from=x&to=x&etype=x&source=x&before=x', 'from', 'to', 'limit', 'before', 'etype', 'source'],
  ] as const) {
    test(query, async () => {
      // Of this log, whose incarnation is known only now, but before its first value.
      const zero = encodePosition(world.topology.incarnation, { sequence: 0, slot: 1 })
      const answer = await get(`channel/b/history.json?${query.replace('ZERO', zero)}`)
      assert.equal(answer.status, 400)
      const { errors } = (await answer.json()) as { errors: Array<{ field: string }> }
      assert.deepEqual(
        errors.map(({ field }) => field),
        fields,
      )
    })
  }
})

test('a limit at both ends, the last of repeated parameters, others ignored', async () => {
  assert.equal((await rows('channel/long/history.json?limit=1')).length, 1)
  assert.equal((await rows('channel/long/history.json?limit=x&limit=2&_=17&type=x')).length, 2)
  assert.equal((await get('channel/long/history.json?limit=1000')).status, 200)
})

test('past the pages that may be read at once, and those that may wait: 429, and live goes on', async () => {
  const small = await world.edge({ historyReads: { reading: 1, waiting: 1 } })
  const ask = () => fetch(`${small.url}/metadata/channel/long/history.json?limit=1000&etype=1`)
  const answers = await Promise.all([ask(), ask(), ask(), ask()])
  const statuses = answers.map(answer => answer.status).sort()
  assert.deepEqual(statuses, [200, 200, 429, 429])
  const refused = answers.find(answer => answer.status === 429)
  assert.equal(refused?.headers.get('retry-after'), '1')
  assert.match(String(await refused?.text()), /too-many-reads/)
  assert.equal(await count(small.metrics.edgeRejected, 'history'), 2)
  assert.equal((await small.metrics.historyReading.get()).values[0]?.value, 0)
  assert.equal((await ask()).status, 200)
})

test('a value that cannot be read ends the history there', async () => {
  await log.write('long', '{"v":2}')
  await log.write('long', 'not JSON')
  assert.equal((await get('channel/long/history.json')).status, 200)
})
