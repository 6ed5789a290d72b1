// The history by the console's API: the whole of it, whatever the option (rule 27).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console } from '../../src/console/console.ts'
import { type HistoryOption, plainChannel } from '../../src/domain/registry.ts'
import { EventLog } from '../../src/log/event-log.ts'
import { History } from '../../src/log/history.ts'
import { Mounts } from '../../src/log/mounts.ts'
import { defaultReadLimits, ReadBudget } from '../../src/log/read-budget.ts'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { FoldedLog } from '../helpers/folded.ts'
import { openLog, testLogger } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'

const adminToken = 'the-admin-token-of-this-test'
const plays = 30

let world: Awaited<ReturnType<typeof start>>
before(async () => {
  world = await start()
})
after(() => world.stop())

async function start() {
  const nats = await startNats()
  const { connection, topology, metrics } = await openLog(nats.url)
  const registry = new Registry(connection)
  const tokens = new Tokens(connection)
  const mounts = new Mounts(connection)
  const events = new EventLog(connection, metrics)
  await Promise.all([registry.start(), tokens.start(), mounts.start()])
  const budget = new ReadBudget(defaultReadLimits, metrics.historyReading)
  const history = new History({ connection, topology, budget })
  const parts = { registry, tokens, mounts, events, history, log: testLogger, metrics }
  const app = new Console({ host: '127.0.0.1', port: 0, tls: undefined, adminToken, ...parts })
  await app.start()
  await registry.putStation({ key: 's', name: 'S', timezone: null })
  const options: HistoryOption[] = ['recent', 'public', 'off']
  const log = new FoldedLog(connection, topology, 's')
  for (const option of options) await registry.putChannel({ ...plainChannel(option, 's'), history: option })
  for (let number = 0; number < plays; number++)
    for (const option of options)
      await log.now(option, number * 100, `Artist - ${option} ${number}`, { extdata: '{"x":1}' })
  return {
    log,
    ask: (path: string, authorization = `Bearer ${adminToken}`) =>
      fetch(`http://127.0.0.1:${app.port}/api/${path}`, { headers: { authorization } }),
    async stop() {
      await app.stop()
      await Promise.all([registry.stop(), tokens.stop(), mounts.stop()])
      await connection.close()
      await nats.stop()
    },
  }
}

test('all of a channel, with extdata, whatever its option', async () => {
  for (const option of ['recent', 'public', 'off']) {
    const answer = await world.ask(`channels/${option}/history.json?limit=1000`)
    assert.equal(answer.headers.get('content-type'), 'application/json')
    const rows = (await answer.json()) as Array<{ extdata: unknown }>
    assert.equal(rows.length, plays)
    assert.ok(rows.every(({ extdata }) => extdata !== null))
  }
})

test('why a play was not shown, and the warnings', async () => {
  await world.log.now('public', 10_000, 'Artist - Current', { time: 10_000, warnings: ['cover: dropped'] })
  await world.log.now('public', 10_010, 'Artist - Late', { time: 9_990 })
  const answer = await world.ask('channels/public/history.json?limit=2')
  const [late, current] = (await answer.json()) as Array<Record<string, unknown>>
  assert.deepEqual([late?.['shown'], late?.['reason'], late?.['warnings']], [false, 'older', []])
  assert.deepEqual([current?.['shown'], current?.['reason']], [true, null])
  assert.deepEqual(current?.['warnings'], ['cover: dropped'])
})

test('a station, page by page, as CSV', async () => {
  let path: string | undefined = 'stations/s/history.csv?limit=40'
  const lines: string[] = []
  while (path !== undefined) {
    const answer: Response = await world.ask(path)
    assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
    lines.push(...(await answer.text()).split('\r\n').slice(1, -1))
    path = /^<\/api\/([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
  }
  assert.equal(lines.length, plays * 3 + 2)
  assert.equal(new Set(lines).size, plays * 3 + 2)
})

test('wants credentials and a known key; bad input names the parameter', async () => {
  assert.equal((await world.ask('channels/off/history.json', '')).status, 401)
  assert.equal((await world.ask('channels/x/history.json')).status, 404)
  assert.equal((await world.ask('stations/x/history.csv')).status, 404)
  const answer = await world.ask('stations/s/history.csv?limit=0')
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /"field":"limit"/)
})
