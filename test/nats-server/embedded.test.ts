import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, afterEach, test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { type NatsAddress, readNatsJson } from '../../src/nats-server/address.ts'
import { EmbeddedNats } from '../../src/nats-server/embedded.ts'
import { findNatsServer } from '../../src/nats-server/find.ts'
import { identityOf, isAlive, type ProcessIdentity } from '../../src/nats-server/identity.ts'
import { createLog } from '../../src/observe/log.ts'
import { StartError } from '../../src/observe/service.ts'
import { inRoot } from '../helpers/root.ts'

const binary = await findNatsServer({ say: line => console.error(line) })
const root = mkdtempSync(join(tmpdir(), 'nownext-embedded-'))
after(() => rmSync(root, { recursive: true, force: true }))
const log = createLog('silent')
let folders = 0
const newFolder = () => join(root, `data ${++folders}`)

function embed(
  dataDir: string,
  more: { binary?: string; onFailed?: (error: Error) => void } = {},
): EmbeddedNats {
  const onFailed = (error: Error) => assert.fail(error)
  const nats = new EmbeddedNats({ dataDir, binary, log, onFailed, ...more })
  embedded.push(nats)
  return nats
}

// A test that fails must not leave a server.
const embedded: EmbeddedNats[] = []
afterEach(() => Promise.all(embedded.splice(0).map(nats => nats.stop())))

const dial = (address: NatsAddress) =>
  connect({ servers: address.url, user: address.user, pass: address.password, reconnectTimeWait: 20 })

async function append(nc: NatsConnection, text: string): Promise<void> {
  const jsm = await jetstreamManager(nc)
  await jsm.streams.add({ name: 'S', subjects: ['s'] })
  await jetstream(nc).publish('s', text)
}

async function lastText(nc: NatsConnection): Promise<string | undefined> {
  const jsm = await jetstreamManager(nc)
  return (await jsm.streams.getMessage('S', { last_by_subj: 's' }))?.string()
}

function serverIn(dataDir: string): ProcessIdentity {
  const identity = JSON.parse(readFileSync(join(dataDir, 'nats.pid'), 'utf8')) as ProcessIdentity
  assert.ok(isAlive(identity))
  return identity
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 10))
}

type Embedding = { child: ChildProcess; said: NatsAddress & { refused?: string } }

/** Another process that embeds on the folder. It ends with this one: its standard input ends then. */
async function embedElsewhere(dataDir: string): Promise<Embedding> {
  const program = inRoot('test/nats-server/embedding.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', program, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, said: JSON.parse(line) as Embedding['said'] }
}

test('start, use, stop: the address stands in nats.json for its owner only and goes with the server', async () => {
  const dataDir = newFolder()
  const nats = embed(dataDir)
  const address = await nats.start()
  assert.match(address.url, /^nats:\/\/127\.0\.0\.1:\d+$/)
  assert.deepEqual(readNatsJson(dataDir), address)
  assert.equal(statSync(join(dataDir, 'nats.json')).mode & 0o777, 0o600)
  const server = serverIn(dataDir)
  const nc = await dial(address)
  await append(nc, 'one')
  await nc.close()
  await assert.rejects(connect({ servers: address.url }), /authorization violation/i)
  await Promise.all([nats.stop(), nats.stop()])
  assert.ok(!isAlive(server))
  assert.equal(readNatsJson(dataDir), undefined)
  assert.ok(!existsSync(join(dataDir, 'nats.pid')))

  const again = embed(dataDir)
  const nc2 = await dial(await again.start())
  assert.equal(await lastText(nc2), 'one')
  await nc2.close()
  await again.stop()
})

test('a server that outlived its nownext is ended before the next start, and nothing is lost', async () => {
  const dataDir = newFolder()
  const { child, said } = await embedElsewhere(dataDir)
  const nc = await dial(said)
  await append(nc, 'kept')
  await nc.close()
  const orphan = serverIn(dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.ok(isAlive(orphan))
  const nats = embed(dataDir)
  const nc2 = await dial(await nats.start())
  assert.ok(!isAlive(orphan))
  assert.equal(await lastText(nc2), 'kept')
  await nc2.close()
  await nats.stop()
})

test('a recorded pid that is another process now is left alone', async () => {
  const dataDir = newFolder()
  const bystander = spawn('sleep', ['60'])
  mkdirSync(dataDir)
  const identity = identityOf(bystander.pid ?? 0)
  for (const startedAt of [identity?.startedAt, 'another']) {
    writeFileSync(join(dataDir, 'nats.pid'), JSON.stringify({ pid: bystander.pid, startedAt }))
    const nats = embed(dataDir)
    await nats.start()
    await nats.stop()
    assert.equal(bystander.exitCode, null)
    assert.equal(bystander.signalCode, null)
  }
  bystander.kill()
})

test('a second service on the same folder is refused, in this process and in another', async () => {
  const dataDir = newFolder()
  const nats = embed(dataDir)
  const address = await nats.start()
  const refusal = new RegExp(`Another nownext \\(process ${process.pid}\\) runs on this data folder`)
  await assert.rejects(
    embed(dataDir).start(),
    error => error instanceof StartError && refusal.test(error.message),
  )
  const { said } = await embedElsewhere(dataDir)
  assert.match(said.refused ?? '', refusal)
  const nc = await dial(address)
  await nc.close()
  assert.deepEqual(readNatsJson(dataDir), address)
  await nats.stop()
})

test('of racing starters on a folder that a dead one left, one wins', async () => {
  const dataDir = newFolder()
  const killed = await embedElsewhere(dataDir)
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  const racers = await Promise.all([1, 2, 3].map(() => embedElsewhere(dataDir)))
  assert.equal(racers.filter(racer => racer.said.refused === undefined).length, 1)
  for (const { child } of racers) {
    child.stdin?.end()
    if (child.exitCode === null) await once(child, 'exit')
  }
})

test('a data folder that cannot be used is told in one line', async () => {
  const file = join(root, 'a file')
  writeFileSync(file, '')
  for (const dataDir of [file, join(file, 'below')]) {
    await assert.rejects(embed(dataDir).start(), error => {
      assert.ok(error instanceof StartError)
      assert.match(error.message, /^The data folder .*a file.* cannot be used: .*$/)
      return true
    })
  }
})

test('a server that does not start is told with what it complained of, and the folder is free again', async () => {
  const dataDir = newFolder()
  const broken = join(root, 'broken-server')
  writeFileSync(broken, '#!/bin/sh\necho "[1] d t [INF] hello" >&2\necho "no good" >&2\nexit 3\n', {
    mode: 0o755,
  })
  await assert.rejects(embed(dataDir, { binary: broken }).start(), {
    name: 'StartError',
    message: 'The embedded nats-server does not start: it ended with code 3 | no good',
  })
  await assert.rejects(embed(dataDir, { binary: join(root, 'none') }).start(), /does not start: .*ENOENT/)
  const nats = embed(dataDir)
  await nats.start()
  await nats.stop()
})

test('a server that ends is started again on the same port with its data', async () => {
  const dataDir = newFolder()
  const nats = embed(dataDir)
  const nc = await dial(await nats.start())
  await append(nc, 'before')
  const first = serverIn(dataDir)
  const reconnected = (async () => {
    for await (const status of nc.status()) if (status.type === 'reconnect') return
  })()
  process.kill(first.pid, 'SIGKILL')
  await reconnected
  assert.equal(await lastText(nc), 'before')
  assert.notEqual(serverIn(dataDir).pid, first.pid)
  await nc.close()
  await nats.stop()
})

test('a crash loop is given up', { timeout: 30_000 }, async () => {
  const dataDir = newFolder()
  // The real server, until a file says that it shall fail.
  const moody = join(root, 'nats-server')
  const failing = join(root, 'failing')
  const script = `#!/bin/sh\n[ ! -e '${failing}' ] || exit 9\nexec '${binary}' "$@"\n`
  writeFileSync(moody, script, { mode: 0o755 })
  let failure: Error | undefined
  const nats = embed(dataDir, { binary: moody, onFailed: error => (failure = error) })
  await nats.start()
  writeFileSync(failing, '')
  process.kill(serverIn(dataDir).pid, 'SIGKILL')
  await until(() => failure !== undefined)
  assert.match(failure?.message ?? '', /ended 5 times within 60 s, last with code 9/)
  await nats.stop()
})
