// `nownext watch` as a process: it prints what a channel shows, as it comes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'
import { runProgram, spawnProgram, startService, type TestService } from '../helpers/service.ts'

let nats: TestNats
let service: TestService
let token: string
before(async () => {
  nats = await startNats()
  service = await startService({ roles: 'intake,projector,edge,console', natsUrl: nats.url })
  await service.admin('PUT', '/stations/w', { name: 'W' })
  token = (await service.admin('PUT', '/channels/w_1', { station: 'w', name: '' })).body.token
})
after(async () => {
  await service?.stop()
  await nats?.stop()
})

const push = (song: string, tracktype = 'now') =>
  fetch(`${service.baseUrl}/metapush/w_1/${token}?${new URLSearchParams({ artist: 'A', song, tracktype })}`)

function watch(argv: string[], apiUrl = service.apiUrl) {
  const child = spawnProgram(['watch', ...argv], { NOWNEXT_API_URL: apiUrl })
  assert.ok(child.stdout && child.stderr)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const closed = once(child, 'close')
  let notes = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    notes += text
  })
  return {
    closed,
    notes: () => notes,
    line: async () => String((await lines.next()).value),
    async stop() {
      child.kill()
      await closed
    },
  }
}

test('it says that it is connected; then a line for each record, the current one first', async () => {
  const watching = watch(['w_1'])
  await until('connected', async () => watching.notes() !== '')
  assert.equal(watching.notes(), `connected to ${service.apiUrl}; channel w_1:\n`)
  await push('One')
  assert.match(await watching.line(), /^\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d {2}now {3}A - One$/)
  await push('Two', 'next')
  assert.match(await watching.line(), / {2}next {2}A - Two$/)
  await watching.stop()
})

test('a station line by line with its channels, as JSON the records themselves', async () => {
  const station = watch(['w', '--of', 'station'])
  assert.match(await station.line(), / {2}w_1 {2}/)
  const json = watch(['w_1', '--json'])
  assert.equal(JSON.parse(await json.line()).channelkey, 'w_1')
  await Promise.all([station.stop(), json.stop()])
})

test('after a restart it goes on by itself, without a gap or a double', async () => {
  const edge = await startService({ roles: 'edge', natsUrl: nats.url, args: ['--drain', '0'] })
  const watching = watch(['w_1', '--json'], edge.apiUrl)
  const songs: string[] = []
  const take = async () => {
    const { type, song } = JSON.parse(await watching.line())
    if (type === 'now') songs.push(song)
  }
  await push('First')
  while (songs.at(-1) !== 'First') await take()
  await edge.stop()
  await until('cut off', async () => watching.notes().includes('connecting again in'))
  await push('Meanwhile 1')
  await push('Meanwhile 2')
  const { port } = new URL(edge.apiUrl)
  const again = await startService({ roles: 'edge', natsUrl: nats.url, args: ['--edge-port', port] })
  while (songs.at(-1) !== 'Meanwhile 2') await take()
  await push('After')
  while (songs.at(-1) !== 'After') await take()
  assert.deepEqual(songs.slice(-4), ['First', 'Meanwhile 1', 'Meanwhile 2', 'After'])
  assert.match(watching.notes(), /closed \(1012 shutting down\); connecting again in \d+\.\d s\n/)
  assert.match(watching.notes(), /connected again\n$/)
  await watching.stop()
  await again.stop()
})

test('it ends with the reason when the channel is deleted', async () => {
  const watching = watch(['w_1'])
  await watching.line()
  await service.admin('DELETE', '/channels/w_1')
  assert.deepEqual((await watching.closed)[0], 1)
  assert.match(watching.notes(), /\nnownext: the channel w_1 was deleted\n$/)
})

const refused: Array<[argv: string[], env: Record<string, string>, message: string]> = [
  [['watch', 'a b'], {}, '"a b" is no channelkey'],
  [['watch', '..', '--of', 'listener'], {}, '".." is no metaid'],
  [
    ['watch', 'w_1'],
    { NOWNEXT_API_URL: 'http://127.0.0.1:9999' },
    'the delivery service at http://127.0.0.1:9999 cannot be reached: nothing listens there; --api-url or NOWNEXT_API_URL sets the address',
  ],
]
for (const [argv, env, message] of refused)
  test(`at once an error: ${message}`, async () => {
    const ended = await runProgram(argv, env)
    assert.deepEqual([ended.status, ended.stdout, ended.stderr], [1, '', `nownext: ${message}\n`])
  })
