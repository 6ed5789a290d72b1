// The program as a process: it starts, serves and ends.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { startNats } from './helpers/nats.ts'
import { runProgram, serviceEnv, spawnProgram, startService } from './helpers/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-serve-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the first start makes a demo station; push, poll, stop, and the next start knows it all', async () => {
  const dataDir = join(folder, 'first')
  // Empty counts as unset, so the admin token is generated.
  const env = { NOWNEXT_ADMIN_TOKEN: '' }
  const first = await startService({ dataDir, env })
  const ready = await fetch(`${first.opsUrl}/readyz`)
  assert.equal(ready.status, 200)
  assert.deepEqual(await ready.json(), { ready: true, reasons: [] })

  const steps = join(dataDir, 'first-steps.txt')
  assert.equal(statSync(steps).mode & 0o777, 0o600)
  assert.equal(statSync(join(dataDir, 'admin-token')).mode & 0o777, 0o600)
  assert.match(first.output(), /first-steps\.txt/)
  const text = readFileSync(steps, 'utf8')
  assert.match(text, /push tokens are stored nowhere else/)
  const [pushUrl = ''] = /(?<=curl ')[^']+(?=')/.exec(text) ?? []
  const token = pushUrl.split('/')[5]?.split('?')[0] ?? ''
  assert.ok(token.length >= 24 && text.includes(first.adminToken))
  assert.ok(!first.output().includes(token) && !first.output().includes(first.adminToken))

  assert.equal((await fetch(pushUrl)).status, 200)
  const poll = async (apiUrl: string) => {
    const answer = await fetch(`${apiUrl}/metadata/channel/demo_pop.json`)
    return answer.status === 200 ? ((await answer.json()) as { song: string }).song : answer.status
  }
  await until(async () => (await poll(first.apiUrl)) === 'Feeling Good')
  assert.equal((await first.admin('GET', '/channels?station=demo')).body.length, 2)
  const natsPid = readNatsPid(dataDir)
  assert.equal(await first.stop(), 0)
  assert.equal(isAlive(natsPid), false, 'no nats-server stays behind')

  rmSync(steps)
  const second = await startService({ dataDir, env })
  assert.equal(second.adminToken, first.adminToken)
  await until(async () => (await poll(second.apiUrl)) === 'Feeling Good')
  assert.equal(existsSync(steps), false, 'secrets are told once')
  assert.equal(await second.stop(), 0)
})

test('SIGINT and SIGHUP end it as SIGTERM does', async () => {
  for (const signal of ['SIGINT', 'SIGHUP'] as const) {
    const service = await startService()
    const natsPid = readNatsPid(service.dataDir)
    service.signal(signal)
    assert.equal(await service.exited, 0)
    assert.equal(isAlive(natsPid), false)
    await service.stop()
  }
})

test('the same request twice is one; a later signal during a slow shutdown ends it at once, and the nats-server too', async () => {
  const service = await startService({ env: { NOWNEXT_LEAVE: '600' } })
  const natsPid = readNatsPid(service.dataDir)
  // As npm does: the terminal signals all of its group, and npm passes it on.
  service.signal('SIGINT')
  service.signal('SIGINT')
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  const draining = await (await fetch(`${service.opsUrl}/readyz`)).json()
  assert.deepEqual(draining, { ready: false, reasons: ['draining'] })
  const again = setInterval(() => service.signal('SIGINT'), 100)
  assert.equal(await service.exited, 130)
  clearInterval(again)
  await until(async () => !isAlive(natsPid))
  await service.stop()
})

test('a signal during the start ends it, and nothing stays behind', async () => {
  const dataDir = join(folder, 'interrupted')
  const child = spawnProgram(['serve'], serviceEnv({}, dataDir))
  const closed = once(child, 'close')
  let output = ''
  await new Promise<void>(resolve => {
    child.stdout?.on('data', chunk => {
      output += chunk
      if (output.includes('nats-server started')) resolve()
    })
  })
  const natsPid = readNatsPid(dataDir)
  child.kill('SIGTERM')
  assert.deepEqual(await closed, [0, null])
  assert.equal(isAlive(natsPid), false)
})

test('roles in two processes meet through NATS', async () => {
  const nats = await startNats()
  const writing = await startService({ natsUrl: nats.url, roles: 'console,intake' })
  const reading = await startService({ natsUrl: nats.url, roles: 'projector,edge' })
  assert.deepEqual([writing.apiUrl, reading.baseUrl, reading.consoleUrl], ['', '', ''])
  assert.deepEqual(
    (await writing.admin('GET', '/stations')).body,
    [],
    'a demo is for the embedded server only',
  )
  await writing.admin('PUT', '/stations/two', { name: '' })
  const { token } = (await writing.admin('PUT', '/channels/two_1', { station: 'two', name: '' })).body
  assert.equal((await fetch(`${writing.baseUrl}/metapush/two_1/${token}?song=Meeting`)).status, 200)
  const shown = async () => (await fetch(`${reading.apiUrl}/metadata/channel/two_1.txt`)).text()
  await until(async () => (await shown()) === 'Meeting')
  await nats.kill()
  await until(async () => (await fetch(`${writing.opsUrl}/readyz`)).status === 503)
  const body = await (await fetch(`${writing.opsUrl}/readyz`)).json()
  assert.deepEqual(body, { ready: false, reasons: ['log: not connected to NATS'] })
  assert.equal((await fetch(`${writing.opsUrl}/healthz`)).status, 200)
  assert.deepEqual(await Promise.all([writing.stop(), reading.stop()]), [0, 0])
  await nats.stop()
})

test('with a certificate every address is https, and the command line works over it', async () => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const service = await startService({ env: { NOWNEXT_TLS_CERT: cert, NOWNEXT_TLS_KEY: key } })
  const tokenFile = join(folder, 'tls-token')
  writeFileSync(tokenFile, 'a-token-that-was-brought')
  const env = {
    NODE_EXTRA_CA_CERTS: cert,
    NOWNEXT_BASE_URL: service.baseUrl,
    NOWNEXT_CONSOLE_URL: service.consoleUrl,
    NOWNEXT_ADMIN_TOKEN: service.adminToken,
  }
  const done = async (argv: string[]) => {
    const { status, stderr } = await runProgram(argv, env)
    assert.deepEqual([status, stderr], [0, ''], argv.join(' '))
  }
  await done(['token', 'add', 'demo_pop', '--token-file', tokenFile])
  await done(['push', 'demo_pop', '--token-file', tokenFile, '--song', 'Sealed'])
  const socket = new WebSocket(`${service.wsUrl}/metadata/channel/demo_pop`, { ca: readFileSync(cert) })
  const [message] = await once(socket, 'message')
  assert.equal(JSON.parse(message.toString()).song, 'Sealed')
  socket.terminate()
  assert.equal(await service.stop(), 0)
})

function readNatsPid(dataDir: string): number {
  const pid = Number(/\d+/.exec(readFileSync(join(dataDir, 'nats.pid'), 'utf8'))?.[0])
  assert.ok(pid > 0 && isAlive(pid))
  return pid
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

async function until(condition: () => Promise<boolean>, limitMs = 10_000): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await condition())) {
    assert.ok(performance.now() < endMs, 'the condition did not come true in time')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
