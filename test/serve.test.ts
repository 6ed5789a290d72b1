// The program as a process: it starts, serves, ends, and says in one line why it cannot.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { listen } from '../src/observe/listen.ts'
import { startNats } from './helpers/nats.ts'
import {
  type Ended,
  runProgram,
  type ServiceOptions,
  serviceEnv,
  spawnProgram,
  startService,
} from './helpers/service.ts'

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

test('a second signal during a slow drain ends it at once, and the nats-server too', async () => {
  const service = await startService({ env: { NOWNEXT_DRAIN: '600' } })
  const natsPid = readNatsPid(service.dataDir)
  const socket = new WebSocket(`${service.wsUrl}/metadata/channel/demo_pop`)
  await new Promise(resolve => socket.once('open', resolve))
  service.signal('SIGINT')
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  const draining = await (await fetch(`${service.opsUrl}/readyz`)).json()
  assert.deepEqual(draining, { ready: false, reasons: ['draining'] })
  service.signal('SIGINT')
  assert.equal(await service.exited, 130)
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
  const done = async (argv: string[]) => assert.equal((await runProgram(argv, env)).status, 0, argv.join(' '))
  await done(['token', 'add', 'demo_pop', '--token-file', tokenFile])
  await done(['push', 'demo_pop', '--token-file', tokenFile, '--song', 'Sealed'])
  const socket = new WebSocket(`${service.wsUrl}/metadata/channel/demo_pop`, { ca: readFileSync(cert) })
  const [message] = await once(socket, 'message')
  assert.equal(JSON.parse(message.toString()).song, 'Sealed')
  socket.terminate()
  assert.equal(await service.stop(), 0)
})

test('a data folder belongs to one service at a time', async () => {
  const service = await startService()
  const second = await failedStart({ dataDir: service.dataDir, roles: 'edge' })
  assert.match(second.stderr, /Another nownext/)
  assert.match(second.stderr, /NOWNEXT_NATS_URL/, 'who asks for some roles wants several processes')
  assert.equal(await service.stop(), 0)
})

test('a port in use, with everything stopped again', async () => {
  const server = createServer()
  const port = await listen(server, 'test', '127.0.0.1', 0)
  for (const [name, what] of [
    ['NOWNEXT_OPS_PORT', 'operations listener'],
    ['NOWNEXT_CONSOLE_PORT', 'console'],
    ['NOWNEXT_INTAKE_PORT', 'intake'],
  ] as const) {
    const dataDir = join(folder, name)
    const { stderr } = await failedStart({ dataDir, env: { [name]: String(port) } })
    assert.equal(stderr, `nownext: the ${what} cannot listen on 127.0.0.1:${port}: the port is in use\n`)
    assert.equal(existsSync(join(dataDir, 'nats.pid')), false, 'its nats-server is stopped')
  }
  server.close()
})

const garbage = join(folder, 'garbage.pem')
writeFileSync(garbage, 'no certificate')
const asFile = join(folder, 'a-file')
writeFileSync(asFile, '')

const failures: Array<[what: string, options: ServiceOptions, message: RegExp]> = [
  [
    'an unknown variable',
    { env: { NOWNEXT_EDGE_PROT: '1' } },
    /NOWNEXT_EDGE_PROT.*did you mean NOWNEXT_EDGE_PORT/,
  ],
  ['an unknown flag', { args: ['--edge-prot', '1'] }, /--edge-prot.*did you mean --edge-port/],
  ['a data folder that is a file', { dataDir: asFile }, /a-file/],
  ['a short admin token', { env: { NOWNEXT_ADMIN_TOKEN: 'short' } }, /NOWNEXT_ADMIN_TOKEN.*at least 16/],
  [
    'TLS files that are none',
    { env: { NOWNEXT_TLS_CERT: garbage, NOWNEXT_TLS_KEY: garbage } },
    /garbage\.pem/,
  ],
  [
    'TLS files that are not there',
    { env: { NOWNEXT_TLS_CERT: '/no/c', NOWNEXT_TLS_KEY: '/no/k' } },
    /\/no\/c.*ENOENT/,
  ],
  ['half of TLS', { env: { NOWNEXT_TLS_CERT: garbage } }, /both/],
  ['a NATS that is not there', { natsUrl: 'nats://127.0.0.1:9' }, /127\.0\.0\.1:9/],
]
for (const [what, options, message] of failures) {
  test(`one line and exit 1 for ${what}`, async () => {
    const { stderr } = await failedStart(options)
    assert.match(stderr, message)
    assert.ok(!stderr.includes('short'))
  })
}

async function failedStart(options: ServiceOptions): Promise<Ended> {
  const dataDir = options.dataDir ?? join(folder, 'unused')
  const ended = await runProgram(['serve', ...(options.args ?? [])], serviceEnv(options, dataDir))
  assert.equal(ended.status, 1, ended.stdout)
  assert.match(ended.stderr, /^nownext: [^\n]+\n$/, 'one line')
  return ended
}

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
