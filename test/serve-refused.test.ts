// What the program says where it cannot start: one line, with everything stopped again.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { listen } from '../src/observe/listen.ts'
import { startNats } from './helpers/nats.ts'
import { type Ended, runProgram, type ServiceOptions, serviceEnv, startService } from './helpers/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-start-'))
after(() => rmSync(folder, { recursive: true, force: true }))

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

test('an edge port on which another service listens is not shared by mistake', async () => {
  const service = await startService()
  const edgePort = new URL(service.apiUrl).port
  const second = { dataDir: join(folder, 'second'), env: { NOWNEXT_EDGE_PORT: edgePort } }
  for (const args of [[], ['--edges', '2']]) {
    const { stderr } = await failedStart({ ...second, args })
    assert.match(
      stderr,
      new RegExp(`the edge cannot listen on 127\\.0\\.0\\.1:${edgePort}: the port is in use`),
    )
  }
  const nats = await startNats()
  const alone = { roles: 'edge', natsUrl: nats.url }
  for (const sharing of [{ args: ['--share-edge-port'] }, alone]) {
    const shared = await startService({ ...second, ...sharing })
    assert.equal(shared.apiUrl, service.apiUrl)
    assert.equal(await shared.stop(), 0)
  }
  await nats.stop()
  assert.equal(await service.stop(), 0)
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
