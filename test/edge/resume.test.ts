// Coming back with a position (rule 25), on each build of the library that loads here.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plainChannel } from '../../src/domain/registry.ts'
import { maxReplay } from '../../src/edge/resume.ts'
import { resumeRate } from '../../src/edge/resume-rate.ts'
import { loadableUws } from '../../src/edge/uws.ts'
import { encodePosition } from '../../src/log/position.ts'
import { count, createWorld, Listener, type TestEdge, until, type World } from './world.ts'

let world: World
let edge: TestEdge
before(async () => {
  world = await createWorld()
})
after(() => world.close())

const songs = (records: Array<Record<string, unknown>>) => records.map(({ song }) => song)
const positionOf = (sequence: number, slot: 0 | 1 = 1, incarnation = world.topology.incarnation) =>
  encodePosition(incarnation, { sequence, slot })
const resume = (path: string, after: string) =>
  Listener.open(`${edge.url}/metadata/${path}${path.includes('?') ? '&' : '?'}after=${after}`)
const answers = (from: string) => count(edge.metrics.edgeResumes, from)
const logReads = async () => (await edge.metrics.edgeLogReads.get()).values[0]?.value ?? 0

/** Shows a number of songs; resolves to their positions, once the edge has seen them all. */
async function showMany(channelkey: string, from: number, to: number, station?: string): Promise<string[]> {
  const positions: string[] = []
  for (let number = from; number < to; number++) {
    const said = { song: `${number}`, ...(station === undefined ? {} : { station }) }
    positions.push((await world.show(channelkey, said, null, ['now'])).now.position)
  }
  await until(async () => {
    const answer = await fetch(`${edge.url}/metadata/channel/${channelkey}.json`)
    return (
      answer.status === 200 && ((await answer.json()) as { position: string }).position === positions.at(-1)
    )
  })
  return positions
}

/** Whether nothing follows the records that are there: a later change is the next one. */
async function assertThenLive(listener: Listener, channelkey: string): Promise<void> {
  const before = listener.messages.length
  const { now } = await world.show(channelkey, { song: 'live' }, null, ['now'])
  const records = await listener.records(before + 1)
  assert.equal(records.at(-1)?.['position'], now.position)
}

for (const uws of loadableUws()) {
  describe(`resume on ${uws.name} ${uws.version}`, () => {
    before(async () => {
      edge = await world.edge({ uws })
    })

    test('from memory: what followed, the empty next too, in order; and what the selection asks for', async () => {
      const first = await world.show('a', { song: 'A1' }, { song: 'A2' }, ['next', 'now'])
      const second = await world.show('a', { song: 'A2' }, 'gone', ['next', 'now'])
      await showMany('a', 3, 5)
      const after = async (position: string, query = '', length = 1) => {
        const listener = await resume(`channel/a${query}`, position)
        const records = await listener.records(length)
        listener.ws.close()
        return records.map(({ type, song }) => `${type} ${song}`)
      }
      assert.deepEqual(await after(first.next.position, '', 5), [
        'now A1',
        'next ',
        'now A2',
        'now 3',
        'now 4',
      ])
      assert.deepEqual(await after(first.now.position, '', 4), ['next ', 'now A2', 'now 3', 'now 4'])
      assert.deepEqual(await after(first.now.position, '?type=now', 3), ['now A2', 'now 3', 'now 4'])
      assert.deepEqual(await after(first.next.position, '?type=next', 1), ['next '])
      assert.deepEqual(await after(second.now.position, '', 2), ['now 3', 'now 4'])
      const current = await resume('channel/a', (await showMany('a', 5, 6))[0] ?? '')
      await assertThenLive(current, 'a')
      assert.equal(current.messages.length, 1)
      current.ws.close()
      assert.equal(await logReads(), 0)
    })

    test('further back than memory: from the log, up to 1000 records; one more is a gap', async () => {
      const positions = await showMany('b', 0, maxReplay + 2)
      const whole = await resume('channel/b', positions[1] ?? '')
      assert.deepEqual(
        songs(await whole.records(maxReplay)),
        Array.from({ length: maxReplay }, (_, at) => `${at + 2}`),
      )
      await assertThenLive(whole, 'b')
      assert.equal(await answers('log'), 1)
      const tooFar = await resume('channel/b', positions[0] ?? '')
      const [gap, state] = await tooFar.records(2)
      assert.deepEqual(gap, { type: 'gap', from: positions[0], to: state?.['position'] })
      assert.equal(state?.['song'], 'live')
      await assertThenLive(tooFar, 'b')
      for (const { ws } of [whole, tooFar]) ws.close()
    })

    test('an edge just started answers from the log, once for all; who has missed nothing costs no read', async () => {
      const positions = await showMany('c', 0, 40)
      edge = await world.edge({ uws })
      const current = await resume('channel/c', positions.at(-1) ?? '')
      await until(async () => (await answers('memory')) === 1)
      assert.equal(await logReads(), 0)
      const listeners = await Promise.all(
        Array.from({ length: 60 }, (_, at) => resume('channel/c', positions[at % 30] ?? '')),
      )
      for (const [at, listener] of listeners.entries()) {
        const missed = Array.from({ length: 39 - (at % 30) }, (_, nth) => `${(at % 30) + 1 + nth}`)
        assert.deepEqual(songs(await listener.records(missed.length)), missed)
      }
      assert.equal(await logReads(), 1)
      await assertThenLive(current, 'c')
      for (const { ws } of [current, ...listeners]) ws.close()
    })

    test('a station: the records of all its channels, in the order of the log; one that moved too', async () => {
      const from = (await showMany('a', 0, 1))[0] ?? ''
      await showMany('c', 1, 2)
      await showMany('b', 2, 3)
      await showMany('a', 3, 4)
      await showMany('c', 4, 5, 'one')
      await showMany('c', 5, 6)
      for (const [how, expected] of [
        ['memory', ['2', '3', '4']],
        ['log', ['2', '3', '4', 'memory']],
      ] as const) {
        const before = await answers(how)
        const station = await resume('station/one', from)
        assert.deepEqual(songs(await station.records(expected.length)), expected)
        assert.equal(await answers(how), before + 1)
        const nexts = await resume('station/one?type=next', from)
        await world.show('a', { song: '3' }, { song: how }, ['next'])
        assert.equal((await station.records(expected.length + 1)).at(-1)?.['song'], how)
        await until(() => nexts.messages.at(-1)?.includes(`"${how}"`) ?? false)
        assert.deepEqual(songs(await nexts.records(1)), [...expected.slice(3), how])
        for (const { ws } of [station, nexts]) ws.close()
        edge = await world.edge({ uws })
      }
    })

    test('positions of every bad kind (rule 25)', async () => {
      const [current = ''] = await showMany('a', 0, 1)
      const foreign = await resume('channel/a', positionOf(1, 1, '0a0b0c0d'))
      const [gap, state] = await foreign.records(2)
      assert.deepEqual(gap, { type: 'gap', from: positionOf(1, 1, '0a0b0c0d'), to: current })
      assert.equal(state?.['position'], current)
      const startMs = performance.now()
      const beyond = await resume('channel/a', positionOf(1_000_000))
      assert.equal((await beyond.records(2))[0]?.['type'], 'gap')
      const waitedMs = performance.now() - startMs
      assert.ok(waitedMs > 1_900 && waitedMs < 4_000, `waited ${waitedMs} ms`)
      await world.registry.putChannel(plainChannel('silent', 'one'))
      const silent = await resume('channel/silent', positionOf(1, 1, '0a0b0c0d'))
      assert.deepEqual((await silent.records(1))[0], {
        type: 'gap',
        from: positionOf(1, 1, '0a0b0c0d'),
        to: '',
      })
      for (const { ws } of [foreign, beyond, silent]) ws.close()
      await world.registry.removeChannel('silent')
    })

    test('past the retention: a gap; at its very edge nothing is missing', async () => {
      const positions = await showMany('a', 0, 3)
      edge = await world.edge({ uws })
      await world.connection.jsm.streams.purge('KV_channel', { seq: world.sequence() - 1 })
      const purged = await resume('channel/a', positions[0] ?? '')
      const whole = await resume('channel/a', positions[1] ?? '')
      assert.deepEqual(songs(await whole.records(1)), ['2'])
      const missing = world.sequence() - 4
      const older = await resume('channel/a', positionOf(missing))
      assert.equal((await older.records(2))[0]?.['type'], 'gap')
      const station = await resume('station/one', positionOf(missing))
      assert.equal((await station.records(1))[0]?.['type'], 'gap')
      // The record of this position is gone, but none after it.
      assert.deepEqual(songs(await purged.records(2)), ['1', '2'])
      for (const { ws } of [purged, whole, older, station]) ws.close()
    })

    test('an edge that is behind the position waits for it', async () => {
      const ahead = positionOf(world.sequence() + 1)
      const listener = await resume('channel/a', ahead)
      const { now } = await world.show('a', { song: 'reached' }, null, ['now'])
      assert.equal(now.position, ahead)
      await assertThenLive(listener, 'a')
      assert.equal(listener.messages.length, 1)
      listener.ws.close()
    })

    test('a channel that was deleted and made anew: what followed, of both lives; the removal itself is no record', async () => {
      await world.registry.putChannel(plainChannel('twice', 'one'))
      const [first = ''] = await showMany('twice', 0, 2)
      await world.registry.removeChannel('twice')
      await world.marker('twice')
      await world.registry.putChannel(plainChannel('twice', 'one'))
      await showMany('twice', 2, 3)
      for (const how of ['memory', 'log']) {
        const listener = await resume('channel/twice', first)
        assert.deepEqual(songs(await listener.records(2)), ['1', '2'], how)
        listener.ws.close()
        edge = await world.edge({ uws })
      }
      await world.registry.removeChannel('twice')
      await world.marker('twice')
    })

    test('a loop of resumes is slowed: 4429, counted; others are not', async () => {
      const after = positionOf(world.sequence())
      for (let visit = 0; visit < resumeRate.burst; visit++) {
        const visitor = await resume('channel/b', after)
        visitor.ws.close()
        await visitor.closed()
      }
      await until(async () => (await edge.metrics.edgeSockets.get()).values[0]?.value === 0)
      // What it gains back while it loops is spent too.
      let refused: { code: number; reason: string } | undefined
      while (refused === undefined) {
        const visitor = await resume('channel/b', after)
        const closed = visitor.closed()
        if ((await count(edge.metrics.edgeRejected, 'resumes')) > 0) refused = await closed
        else visitor.ws.close()
        await closed
      }
      assert.deepEqual(refused, { code: 4429, reason: 'resuming too often' })
      assert.equal(await count(edge.metrics.edgeClosed, 'resuming'), 1)
      const other = await resume('channel/a', after)
      await assertThenLive(other, 'a')
      other.ws.close()
    })

    test('the log away: resumes wait for it, then all comes; nothing is missing', async () => {
      const positions = await showMany('b', 0, 50)
      edge = await world.edge({ uws })
      world.nats.pause()
      const listener = await resume('channel/b', positions[0] ?? '')
      await until(async () => (await logReads()) > 0)
      world.nats.resume()
      assert.equal((await listener.records(49)).length, 49)
      await assertThenLive(listener, 'b')
      listener.ws.close()
    })

    test('as far back as is read, and one more: a gap', async () => {
      const positions = await showMany('a', 0, 6)
      // A read goes at least a thousand changes back, so those must be there to be too many.
      for (let number = 0; number < 1_010; number++) await world.show('c', { song: 'c' }, null, ['now'])
      const start = await world.edge({ uws, replayLimits: { channelValues: 5, stationSpan: 1_015 } })
      edge = start
      for (const scope of ['channel/a', 'station/one']) {
        const far = await resume(scope, positions[0] ?? '')
        assert.deepEqual(songs(await far.records(5)), ['1', '2', '3', '4', '5'], scope)
        far.ws.close()
      }
      edge = await world.edge({ uws, replayLimits: { channelValues: 4, stationSpan: 1_014 } })
      for (const scope of ['channel/a', 'station/one']) {
        const far = await resume(scope, positions[0] ?? '')
        assert.equal((await far.records(1))[0]?.['type'], 'gap', scope)
        far.ws.close()
      }
    })

    test('as many bytes as are held, and more: a gap; large values further back do not matter', async () => {
      const extra = 'x'.repeat(20_000)
      const positions: string[] = []
      for (let number = 0; number < 5; number++)
        positions.push((await world.show('a', { song: `${number}`, extra }, null, ['now'])).now.position)
      // Each value holds its record once, and a little more.
      edge = await world.edge({ uws, replayLimits: { bytes: 70_000 } })
      for (const scope of ['channel/a', 'station/one']) {
        const near = await resume(scope, positions[2] ?? '')
        assert.deepEqual(songs(await near.records(2)), ['3', '4'], scope)
        const far = await resume(scope, positions[0] ?? '')
        assert.equal((await far.records(1))[0]?.['type'], 'gap', scope)
        for (const { ws } of [near, far]) ws.close()
      }
    })

    test('as many reads as may wait, and one more: a gap, counted', async () => {
      const [a = ''] = await showMany('a', 0, 2)
      const [b = ''] = await showMany('b', 0, 2)
      const [c = ''] = await showMany('c', 0, 2)
      edge = await world.edge({ uws, replayLimits: { reading: 1, waiting: 1 } })
      world.nats.pause()
      const first = await resume('channel/a', a)
      await until(async () => (await logReads()) === 1)
      const second = await resume('channel/b', b)
      const third = await resume('channel/c', c)
      assert.equal((await third.records(1))[0]?.['type'], 'gap')
      assert.equal(await count(edge.metrics.edgeRejected, 'replay-reads'), 1)
      world.nats.resume()
      for (const listener of [first, second]) assert.deepEqual(songs(await listener.records(1)), ['1'])
      for (const { ws } of [first, second, third]) ws.close()
    })
  })
}
