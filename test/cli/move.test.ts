// Export and import: a log moved to another nats-server shows the same there.
import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { eventsOf } from '../../src/cli/import-file.ts'
import { fingerprintOf } from '../../src/cli/lines.ts'
import { runCommand } from '../../src/cli/run.ts'
import { decodeRecord } from '../../src/domain/record.ts'
import { readValue } from '../../src/domain/value.ts'
import { LogUnavailable } from '../../src/log/connection.ts'
import { ImportLog } from '../../src/log/import-log.ts'
import { StartError } from '../../src/observe/service.ts'
import { readStream } from '../helpers/fold.ts'
import { until } from '../helpers/log.ts'
import { pushOf } from '../helpers/pushes.ts'
import { createWorld, type World } from '../projector/harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-move-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = (name: string) => join(folder, `${files++}-${name}`)

type Ran = { out: string; err: string }

async function run(world: World, ...argv: string[]): Promise<Ran> {
  const ran = { out: '', err: '' }
  const out = { write: (text: string) => (ran.out += text) }
  const err = { write: (text: string) => (ran.err += text) }
  await runCommand(argv, { env: { NOWNEXT_NATS_URL: world.nats.url }, out, err })
  return ran
}

async function fails(world: World, argv: string[], message: RegExp): Promise<void> {
  await assert.rejects(run(world, ...argv), (error: unknown) => {
    assert.ok(error instanceof StartError, String(error))
    assert.match(error.message, message)
    assert.ok(!error.message.includes('\n'))
    return true
  })
}

function write(name: string, text: string): string {
  const file = newFile(name)
  writeFileSync(file, text)
  return file
}

/** All that listeners were sent, channel by channel, without positions; and what is shown in the end. */
async function shown(world: World): Promise<Record<string, unknown[]>> {
  const channels: Record<string, unknown[]> = {}
  for (const message of await readStream(world.nats.url, 'KV_channel')) {
    const key = message.subject.split('.')[2] ?? ''
    channels[key] ??= []
    if (message.data.length === 0) channels[key].push('removed')
    else {
      const { send, nowJson, nextJson } = readValue(message.string())
      const [now, next] = [nowJson, nextJson].map(json => json && decodeRecord(json))
      channels[key].push({ send, now, next })
    }
  }
  return channels
}

function lastOf(changes: unknown[] = []): { now: { song: string } } {
  return changes.at(-1) as { now: { song: string } }
}

/** A log with all kinds of events, some of which fell due meanwhile. */
async function createSource(context: TestContext, songs: number): Promise<World> {
  const world = await createWorld(context)
  await world.startProjector()
  await Promise.all(
    Array.from({ length: songs }, (_, i) => world.say(`channel${i % 5}`, pushOf(`Song ${i}`))),
  )
  await world.say('gone', pushOf('first life', { context: { revision: 40 } }))
  await world.say('gone', { v: 1, kind: 'delete', revision: 50 })
  await world.say('gone', pushOf('an old one', { context: { revision: 40 } }))
  await world.say(
    'gone',
    pushOf('second life', { context: { revision: 60 }, element: { extdata: '{"n":12345678901234567890}' } }),
  )
  const startMs = Date.now() + 300
  await world.say('held', pushOf('held', { explicit: true, startMs }))
  await world.say('held', pushOf('following', { kind: 'next' }))
  const fallback = { song: 'Station', artist: '', afterSeconds: 0, unknownAfterSeconds: 1 }
  const last = await world.say('fallen', pushOf('short', { context: { fallback } }))
  await world.folded(last)
  await until('what was due is done', async () => {
    const channels = await shown(world)
    return channels['held']?.length === 3 && channels['fallen']?.length === 2
  })
  return world
}

test('a log moved to another nats-server shows the same there', async context => {
  const source = await createSource(context, 300)
  const file = newFile('log.ndjson')
  const exported = await run(source, 'export', '--output', file)
  assert.match(exported.err, /^\d+ events written\n$/)
  const target = await createWorld(context)
  await target.startProjector()
  await until('a wake-up is there', async () => (await target.events.extent()).lastSequence > 0)
  const imported = await run(target, 'import', file)
  assert.match(imported.out, /^\d+ events imported\n/)
  const { lastSequence } = await target.events.extent()
  await target.folded(lastSequence)
  assert.deepEqual(await shown(target), await shown(source))
  // Nothing of the past was settled by a tick of today, and a new push, of the new registry, goes on from there.
  await target.folded(await target.say('gone', pushOf('third life', { context: { revision: 2 } })))
  const { gone } = await shown(target)
  assert.equal(lastOf(gone).now.song, 'third life')
  assert.match((await run(target, 'rebuild')).out, /all is shown as it was said/)
  // What it became can be moved on, and is not empty any more.
  await fails(target, ['import', file], /not empty/)
})

test('an export that was cut off goes on behind its last whole line', async context => {
  const source = await createSource(context, 20)
  for (const format of ['ndjson', 'csv']) {
    const whole = newFile(`whole.${format}`)
    await run(source, 'export', '--format', format, '--output', whole)
    const text = readFileSync(whole)
    for (const length of [0, 5, 130, Math.floor(text.length / 2), text.length - 1, text.length]) {
      const file = newFile(`part.${format}`)
      writeFileSync(file, text)
      truncateSync(file, length)
      await run(source, 'export', '--format', format, '--output', file)
      assert.equal(readFileSync(file, 'utf8'), text.toString(), `${format} cut at ${length}`)
    }
    assert.equal((await run(source, 'export', '--format', format)).out, text.toString())
  }
  await fails(source, ['export', '--output', write('notes.txt', 'some notes\n')], /is there and no ndjson/)
})

test('an export can begin at a sequence or a time, and be of one channel', async context => {
  const source = await createWorld(context)
  for (let i = 0; i < 10; i++) await source.say(`channel${i % 2}`, pushOf(`Song ${i}`))
  const lines = async (...flags: string[]) =>
    (await run(source, 'export', ...flags)).out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  const all = await lines()
  assert.equal(all.length, 10)
  assert.deepEqual(
    (await lines('--from', '8')).map(({ sequence }) => sequence),
    [8, 9, 10],
  )
  const fromTime = await lines('--from', all[4].time)
  assert.ok(fromTime.length >= 6 && fromTime.length < 10)
  const channel1 = await lines('--channel', 'channel1')
  assert.deepEqual(
    channel1,
    all.filter(({ channelkey }) => channelkey === 'channel1'),
  )
  await fails(source, ['export', '--from', 'yesterday'], /--from is "yesterday"/)
})

test('an interrupted import goes on where it was', async context => {
  const source = await createSource(context, 400)
  const file = newFile('log.ndjson')
  await run(source, 'export', '--output', file)
  const target = await createWorld(context)
  const { connection } = target.log
  // As a server that dies in the middle leaves it: what was acknowledged, and some more.
  const log = new ImportLog(connection, await fingerprintOf(file, 'UTC'))
  assert.equal(await log.begin(), 0)
  let sent = 0
  for await (const event of eventsOf(file, 'UTC')) {
    if (sent++ === 300) break
    await log.append(event)
  }
  await connection.nc.flush()
  await until('300 are there', async () => (await target.events.extent()).lastSequence === 300)
  // A projector that starts now finds that time stands: it settles nothing.
  await target.startProjector()
  await target.folded(300)
  const imported = await run(target, 'import', file)
  assert.match(imported.out, /\(300 of them before\)/)
  const { lastSequence } = await target.events.extent()
  await target.folded(lastSequence)
  assert.deepEqual(await shown(target), await shown(source))
  assert.match((await run(target, 'import', file)).out, /are in the log already/)
  appendFileSync(file, '\n')
  await fails(target, ['import', file], /another file/)
})

test('a log into which somebody pushes meanwhile refuses the import', async context => {
  const target = await createWorld(context)
  const file = write('list.csv', 'time,channelkey,artist,song\n2025-01-01T00:00:00Z,one,A,B\n')
  const log = new ImportLog(target.log.connection, 'some file')
  assert.equal(await log.begin(), 0)
  for (let i = 0; i < 10; i++) await log.append({ channelkey: 'one', event: pushOf(`Song ${i}`), timeMs: i })
  await target.log.connection.nc.flush()
  await until('10 are there', async () => (await target.events.extent()).lastSequence === 10)
  await target.say('one', pushOf('a'))
  await assert.rejects(log.finish(), LogUnavailable)
  await assert.rejects(log.begin(), /not empty/)
  await fails(target, ['import', file], /not empty/)
})

test('the list of an old system becomes a history', async context => {
  const target = await createWorld(context)
  const file = write(
    'list.csv',
    '\ufeffTime;ChannelKey;Artist;Song;Duration;Etype;Remark\r\n' +
      '2025-01-01 00:00:00;one;Mira Holt;"Paper ""Lanterns""";3:34;Music 1;first\r\n' +
      '2025-01-01 00:04:00;one;"The;Quay";"Slow\r\nTide";187;;\r\n',
  )
  await target.startProjector()
  await run(target, 'import', file, '--timezone', 'Europe/Berlin')
  const { lastSequence } = await target.events.extent()
  await target.folded(lastSequence)
  const rows = JSON.parse((await run(target, 'history', 'one', '--format', 'json')).out)
  assert.deepEqual(
    rows.map((row: Record<string, unknown>) => [row['start'], row['artist'], row['song'], row['played']]),
    [
      ['01.01.2025 00:04:00', 'The;Quay', 'Slow Tide', null],
      ['01.01.2025 00:00:00', 'Mira Holt', 'Paper "Lanterns"', 214],
    ],
  )
  await assert.rejects(run(target, 'history', 'nope'), {
    name: 'StartError',
    message: 'no such channel: nope; the log has nothing of it either',
  })
  const table = (await run(target, 'history', 'one', '--limit', '1')).out
  assert.match(table, /^START +PLAYED +TITLE +ID\n01\.01\.2025 00:04:00 +now +The;Quay - Slow Tide/)
  assert.match((await run(target, 'history', 'one', '--format', 'csv')).out, /^start,artist,song/)
})

const head = 'time,channelkey,artist,song\n'
const good =
  '{"sequence":1,"time":"2025-01-01T00:00:00.000Z","channelkey":"one","event":{"v":1,"kind":"tick"}}\n'

for (const [name, text, message] of [
  ['nothing', '', /holds no events/],
  ['no JSON', `${good}{"sequence":2,\n`, /line 2: not JSON/],
  ['an unknown version', `${good}${good.replace('"v":1', '"v":7')}`, /line 2: its event is of version 7/],
  ['a wrong kind', good.replace('tick', 'tock'), /line 1: its event is of the unknown kind tock/],
  ['a push without its element', good.replace('"tick"', '"now"'), /line 1: its event has no right given/],
  ['a bad channelkey', good.replace('"one"', '"a.b"'), /line 1: its channelkey/],
  ['a head that is none', 'artist,song\nx,y\n', /line 1: neither/],
  ['a short row', `${head}2025-01-01T00:00:00Z,one,A\n`, /line 2: it has 3 fields, the head line has 4/],
  ['no time', `${head},one,A,B\n`, /line 2: it has no time/],
  [
    'a wrong order',
    `${head}2025-01-01T00:00:01Z,one,A,B\n2025-01-01T00:00:00Z,one,A,B\n`,
    /line 3: .*sort the file/,
  ],
  ['an open quote', `${head}2025-01-01T00:00:00Z,one,A,"B\n`, /line 2: a quote is not closed/],
  ['bytes that are no UTF-8', Buffer.from([...Buffer.from(head), 0xff, 0x0a]), /line 2: not valid UTF-8/],
] as const) {
  test(`a file with ${name} is refused in one line, before anything is written`, async () => {
    const file = newFile('bad')
    writeFileSync(file, text)
    const argv = ['import', file]
    const err = { write: () => undefined }
    await assert.rejects(
      runCommand(argv, { env: { NOWNEXT_NATS_URL: 'nats://127.0.0.1:1' }, out: err, err }),
      (error: unknown) => error instanceof StartError && message.test(error.message),
    )
  })
}

test('without a service there is one clear line', async () => {
  const err = { write: () => undefined }
  await assert.rejects(
    runCommand(['export', '--data', folder], { env: {}, out: err, err }),
    (error: unknown) =>
      error instanceof StartError && /no service runs on the data folder/.test(error.message),
  )
})
