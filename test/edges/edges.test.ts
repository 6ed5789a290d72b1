// `nownext serve --edges N`: edge processes that share a port, as operators and players see them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { startNats } from '../helpers/nats.ts'
import { startService, type TestService } from '../helpers/service.ts'

test('two edges on one port: one is killed, both are replaced, both drain', async () => {
  const service = await startService({ args: ['--edges', '2'], env: { NOWNEXT_DRAIN: '0' } })
  try {
    const pids = await edgePids(service, 2)
    const natsPassword = JSON.parse(readFileSync(`${service.dataDir}/nats.json`, 'utf8')).password
    for (const pid of pids) {
      const seen = readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8')
      assert.ok(!seen.includes(natsPassword) && !seen.includes(service.adminToken), 'secrets go by IPC only')
    }
    const { body: created } = await service.admin('PUT', '/channels/edges_a', { station: 'demo', name: 'A' })
    const sockets = await Promise.all(Array.from({ length: 16 }, () => open(service, 'edges_a')))
    assert.equal(await metric(service, 'nownext_edge_sockets'), 16, 'gauges are sums')
    await push(service, 'edges_a', created.token, 'One')
    await until(() => sockets.every(socket => socket.songs.includes('One')), 'the record everywhere')
    await until(async () => (await poll(service, 'edges_a')) === 'One', 'the poll')
    assert.equal(await metric(service, 'nownext_edge_deliveries_total'), 16)
    assert.equal(await metric(service, 'nownext_edge_channels'), 1, 'each holds the same channels')
    assert.equal(await metric(service, 'nownext_log_connected'), 1)

    const [victim = 0, survivor = 0] = pids
    process.kill(victim, 'SIGKILL')
    await until(async () => (await readiness(service)).status === 503, 'unready while one is missing')
    await until(async () => (await readiness(service)).status === 200, 'ready again')
    const after = await edgePids(service, 2)
    assert.ok(after.includes(survivor) && !after.includes(victim))
    const left = sockets.filter(socket => socket.code === undefined)
    assert.ok(left.length > 0 && left.length < 16, `${left.length} of 16 sockets were the other one's`)
    assert.equal(await metric(service, 'nownext_edge_process_exits_total'), 1)
    assert.ok((await metric(service, 'nownext_edge_deliveries_total')) >= 16, 'no sum falls')

    service.signal('SIGUSR2')
    // What the system has queued for a listening socket that is just closed is reset, so one in a row may fail.
    const refused = () => poll(service, 'edges_a')
    await until(async () => {
      assert.equal((await readiness(service)).status, 200, 'each is replaced by one that serves already')
      assert.equal(await poll(service, 'edges_a').catch(refused), 'One')
      return service.output().includes('all edge processes are replaced')
    }, 'the end of the replacement')
    const replaced = await edgePids(service, 2)
    assert.ok(!replaced.some(pid => after.includes(pid)))
    await until(() => left.every(socket => socket.code === 1012), 'the sockets are told to go elsewhere')
    assert.ok((await metric(service, 'nownext_edge_deliveries_total')) >= left.length, 'it stays counted')
    assert.equal(await metric(service, 'nownext_edge_process_exits_total'), 1, 'as before')
    assert.equal(await metric(service, 'nownext_edge_processes'), 2)

    const last = await Promise.all(Array.from({ length: 8 }, () => open(service, 'edges_a')))
    await push(service, 'edges_a', created.token, 'Two')
    await until(() => last.every(socket => socket.songs.includes('Two')), 'the next record')
    assert.equal(await service.stop(), 0)
    await until(() => last.every(socket => socket.code === 1012), 'the sockets are told to go elsewhere')
    for (const pid of replaced) assert.ok(!isAlive(pid), 'no edge stays behind')
  } finally {
    await service.stop()
  }
})

test('an edge that stands still makes the parent unready until it goes on', async () => {
  const nats = await startNats()
  try {
    const service = await startService({ roles: 'edge', natsUrl: nats.url, args: ['--edges', '2'] })
    const [still = 0] = await edgePids(service, 2)
    assert.equal((await readiness(service)).status, 200)
    process.kill(still, 'SIGSTOP')
    try {
      await until(async () => (await readiness(service)).status === 503, 'unready')
      const { reasons } = (await (await readiness(service)).json()) as { reasons: string[] }
      assert.match(reasons.join(), /^edges: process \d: does not answer$/)
    } finally {
      process.kill(still, 'SIGCONT')
    }
    await until(async () => (await readiness(service)).status === 200, 'ready again')
    assert.equal(await service.stop(), 0)
  } finally {
    await nats.stop()
  }
})

test('an edge that dies again and again ends the parent', async () => {
  const nats = await startNats()
  try {
    const service = await startService({ roles: 'edge', natsUrl: nats.url, args: ['--edges', '2'] })
    const [steady = 0] = await edgePids(service, 2)
    let ended: number | NodeJS.Signals | undefined
    void service.exited.then(status => {
      ended = status
    })
    await until(async () => {
      for (const pid of childrenOf(service.pid)) if (pid !== steady) kill(pid)
      return ended !== undefined
    }, 'the end of the parent')
    assert.equal(ended, 1)
    assert.match(service.output(), /"level":"fatal".*edge process \d ended 5 times within 60 s/)
    assert.ok(!isAlive(steady))
    await service.stop()
  } finally {
    await nats.stop()
  }
})

test('a parent that is killed takes its edges with it', async () => {
  const nats = await startNats()
  try {
    const service = await startService({ roles: 'edge', natsUrl: nats.url, args: ['--edges', '2'] })
    const pids = await edgePids(service, 2)
    await service.kill()
    await until(() => !pids.some(isAlive), 'the end of the edges')
  } finally {
    await nats.stop()
  }
})

type Client = { songs: string[]; code: number | undefined }

async function open(service: TestService, channelkey: string): Promise<Client> {
  const client: Client = { songs: [], code: undefined }
  const socket = new WebSocket(`${service.wsUrl}/metadata/channel/${channelkey}`)
  socket.on('message', data => client.songs.push(JSON.parse(String(data)).song))
  socket.on('close', code => {
    client.code = code
  })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  return client
}

async function push(service: TestService, channelkey: string, token: string, song: string): Promise<void> {
  const answer = await fetch(`${service.baseUrl}/metapush/${channelkey}/${token}?artist=Artist&song=${song}`)
  assert.equal(answer.status, 200)
}

/** On a connection of its own, so that any of the edges may get it. */
async function poll(service: TestService, channelkey: string): Promise<string | undefined> {
  const url = `${service.apiUrl}/metadata/channel/${channelkey}.json`
  const answer = await fetch(url, { headers: { Connection: 'close' } })
  return answer.status === 200 ? ((await answer.json()) as { song: string }).song : undefined
}

function readiness(service: TestService): Promise<Response> {
  return fetch(`${service.opsUrl}/readyz`)
}

async function metric(service: TestService, name: string): Promise<number> {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** The processes of its edges, when they are so many. */
async function edgePids(service: TestService, count: number): Promise<number[]> {
  await until(() => childrenOf(service.pid).length === count, `${count} edge processes`)
  return childrenOf(service.pid)
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    const pids = text.split(' ').filter(Boolean).map(Number)
    return pids.filter(child => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('edge-child'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
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

function kill(pid: number): void {
  if (isAlive(pid)) process.kill(pid, 'SIGKILL')
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + 60_000
  while (!(await condition())) {
    assert.ok(performance.now() < endMs, `waited in vain for: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
