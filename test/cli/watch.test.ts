// `nownext watch` as a process: it prints what a channel shows, as it comes.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { program, startService, type TestService } from '../helpers/service.ts'

let service: TestService
let token: string
before(async () => {
  service = await startService({ roles: 'intake,projector,edge,console' })
  await service.admin('PUT', '/stations/w', { name: 'W' })
  token = (await service.admin('PUT', '/channels/w_1', { station: 'w', name: '' })).body.token
})
after(() => service?.stop())

const push = (song: string, tracktype = 'now') =>
  fetch(`${service.baseUrl}/metapush/w_1/${token}?${new URLSearchParams({ artist: 'A', song, tracktype })}`)

type Watching = { child: ChildProcess; lines: AsyncIterator<string>; closed: Promise<unknown[]> }

function watch(...argv: string[]): Watching {
  const child = spawn(process.execPath, [...program, 'watch', ...argv, '--api-url', service.apiUrl], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = createInterface({ input: child.stdout })
  return { child, lines: lines[Symbol.asyncIterator](), closed: once(child, 'close') }
}

test('a line for each record, the current one first', async () => {
  await push('One')
  const { child, lines, closed } = watch('w_1')
  assert.match((await lines.next()).value, /^\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d {2}now {3}A - One$/)
  await push('Two', 'next')
  assert.match((await lines.next()).value, / {2}next {2}A - Two$/)
  child.kill()
  await closed
})

test('a station line by line with its channels, as JSON the records themselves', async () => {
  const station = watch('w', '--of', 'station')
  assert.match((await station.lines.next()).value, / {2}w_1 {2}/)
  station.child.kill()
  const json = watch('w_1', '--json')
  assert.equal(JSON.parse((await json.lines.next()).value).channelkey, 'w_1')
  json.child.kill()
  await Promise.all([station.closed, json.closed])
})

test('it ends with the reason when the channel is deleted', async () => {
  const { child, lines, closed } = watch('w_1')
  await lines.next()
  let stderr = ''
  child.stderr?.on('data', chunk => {
    stderr += chunk
  })
  await service.admin('DELETE', '/channels/w_1')
  assert.deepEqual((await closed)[0], 1)
  assert.match(stderr, /^nownext: the delivery service closed the connection \(4404.*\)\n$/)
})
