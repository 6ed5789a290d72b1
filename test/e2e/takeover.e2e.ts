// `npm run test:e2e`: five processes on one NATS: the active projector is killed, its successor is stopped for a while and goes on.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import WebSocket from 'ws'
import { freePort } from '../../deploy/local/ports.ts'
import { readValue } from '../../src/domain/value.ts'
import { checkFold, readStream } from '../helpers/fold.ts'
import { startNats } from '../helpers/nats.ts'
import { pushNumbered } from '../helpers/numbered.ts'
import { startService, type TestService } from '../helpers/service.ts'

const channelCount = 20
/** 200 in a run by hand on a quiet machine. */
const pushesPerSecond = Number(process.env['PUSHES_PER_SECOND'] ?? 50)
const seconds = 14
const stopMs = 5_000

test('killed and stopped projectors: the bucket is a fold of EVENTS, both edges send just that', {
  timeout: 170_000,
}, async t => {
  const nats = await startNats({ syncAlways: true })
  const running: TestService[] = []
  const run = async (roles: string, env: Record<string, string> = {}) => {
    const service = await startService({
      roles,
      natsUrl: nats.url,
      env: { NOWNEXT_PUSH_RATE: '1000', ...env },
    })
    running.push(service)
    return service
  }
  try {
    const edgePort = String(await freePort())
    const front = await run('intake,console')
    const projectors = await Promise.all([run('projector'), run('projector')])
    const edges = await Promise.all([1, 2].map(() => run('edge', { NOWNEXT_EDGE_PORT: edgePort })))
    const targets = await makeChannels(front)
    const { sockets, frames, gaps } = await listenAtBoth(
      edges,
      `${edges[0]?.wsUrl}/metadata/station/takeover`,
    )

    const startMs = Date.now()
    const pushing = pushNumbered(
      () => front.baseUrl,
      targets,
      { from: 0, to: pushesPerSecond * seconds },
      () => undefined,
      async number => {
        const waitMs = startMs + (number * 1000) / pushesPerSecond - Date.now()
        if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs))
      },
    )
    await until(() => frames[0] !== undefined && frames[0].length > pushesPerSecond, 'frames before the kill')
    const first = await activeOf(projectors)
    await first.kill()
    const successor = await activeOf(projectors.filter(projector => projector !== first))
    const third = await run('projector')
    successor.signal('SIGSTOP')
    await new Promise(resolve => setTimeout(resolve, stopMs))
    successor.signal('SIGCONT')
    await pushing

    await until(
      () => frames[0] !== undefined && frames[0].length >= pushesPerSecond * seconds,
      'every push shown',
    )
    const check = await checkFold(nats.url)
    const expected = await sentFrames(nats.url)
    await until(() => frames.every(list => list.length >= expected.length), 'every frame delivered')
    for (const list of frames) assert.deepEqual(list, expected)
    const longestGapMs = Math.max(...gaps.map(gap => gap.longestMs))
    t.diagnostic(
      `${check.events} events, ${check.values} values, ${frames.length} sockets on two edges with ${expected.length} frames each; longest time without a frame ${longestGapMs} ms`,
    )
    assert.ok(longestGapMs < 3_000, `longest gap ${longestGapMs} ms`)
    for (const socket of sockets) socket.terminate()
    assert.equal(await third.stop(), 0)
  } finally {
    await Promise.all(running.map(service => service.stop()))
    await nats.stop()
  }
})

async function makeChannels(service: TestService): Promise<Array<{ channelkey: string; token: string }>> {
  await service.admin('PUT', '/stations/takeover', { name: 'Takeover' })
  return await Promise.all(
    Array.from({ length: channelCount }, async (_, index) => {
      const channelkey = `takeover_${index}`
      const { body } = await service.admin('PUT', `/channels/${channelkey}`, {
        station: 'takeover',
        name: channelkey,
      })
      return { channelkey, token: body.token }
    }),
  )
}

/** Sockets on the shared port until each edge has one; what they receive, and their longest silence. */
async function listenAtBoth(edges: TestService[], url: string) {
  const sockets: WebSocket[] = []
  const frames: string[][] = []
  const gaps: Array<{ lastMs: number; longestMs: number }> = []
  const hasBoth = async () => {
    const counts = await Promise.all(edges.map(edge => metric(edge, 'nownext_edge_sockets')))
    return counts.every(count => count > 0)
  }
  while (!(await hasBoth())) {
    assert.ok(sockets.length < 40, 'the port is not shared')
    const socket = new WebSocket(url)
    const list: string[] = []
    const gap = { lastMs: 0, longestMs: 0 }
    socket.on('message', data => {
      const nowMs = Date.now()
      if (gap.lastMs > 0) gap.longestMs = Math.max(gap.longestMs, nowMs - gap.lastMs)
      gap.lastMs = nowMs
      list.push(String(data))
    })
    sockets.push(socket)
    frames.push(list)
    gaps.push(gap)
    await once(socket, 'open')
  }
  return { sockets, frames, gaps }
}

/** What the bucket says was sent, in its order. */
async function sentFrames(url: string): Promise<string[]> {
  const values = (await readStream(url, 'KV_channel')).map(message => readValue(message.string()))
  return values.flatMap(value =>
    value.send.map(type => (type === 'now' ? value.nowJson : value.nextJson) ?? ''),
  )
}

async function activeOf(projectors: TestService[]): Promise<TestService> {
  return await until(async () => {
    for (const projector of projectors) {
      if ((await metric(projector, 'nownext_projector_active')) === 1) return projector
    }
    return undefined
  }, 'an active projector')
}

async function metric(service: TestService, name: string): Promise<number> {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

async function until<T>(condition: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  for (const endMs = Date.now() + 60_000; Date.now() < endMs; ) {
    const value = await condition()
    if (value) return value as NonNullable<T>
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new assert.AssertionError({ message: `waited in vain for: ${what}` })
}
