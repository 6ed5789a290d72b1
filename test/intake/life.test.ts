// The life of an intake: start, the log away, drain, TLS.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { StartError } from '../../src/observe/service.ts'
import { inRoot } from '../helpers/root.ts'
import {
  exchange,
  type Harness,
  json,
  RawClient,
  request,
  startHarness,
  token,
  wrongToken,
} from './harness.ts'

describe('the life of an intake', () => {
  let harness: Harness
  before(async () => {
    harness = await startHarness()
  })
  after(() => harness.stop())

  const push = (port: number, key: string, song: string, headers: Record<string, string> = {}) =>
    request(port, `/metapush/${key}/${token}?song=${song}`, { headers })

  test('while the log stands still a push is 503 within 9 s, never a success; nothing doubles when it is back (rule 1)', async () => {
    const key = await harness.channel('frozen')
    const { port } = harness.intake
    const songs = () => harness.pushes(key).then(pushes => pushes.map(({ element }) => element.song))
    assert.equal((await push(port, key, 'before')).status, 200)
    harness.nats.pause()
    const begun = performance.now()
    const headers = { 'idempotency-key': 'again' }
    const away = await Promise.all([
      push(port, key, 'first', headers),
      push(port, key, 'second'),
      request(port, `/metapush/${key}/${wrongToken}`),
      request(port, `/metapush/${key}-unknown/${token}`),
    ])
    assert.ok(performance.now() - begun < 9_000)
    for (const answer of away) {
      assert.equal(answer.status, 503)
      assert.equal(json(answer)['code'], 'unavailable')
      assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    }
    harness.nats.resume()
    const repeated = await push(port, key, 'first', headers)
    assert.equal(repeated.status, 200)
    assert.equal((await push(port, key, 'after')).status, 200)
    // The one in flight may have been stored, once; the one that waited behind it never started.
    assert.deepEqual(await songs(), ['before', 'first', 'after'])
    assert.match(await harness.metrics.registry.metrics(), /intake_waiting_pushes 0/)
  })

  test('a log that restarts meanwhile costs time, not pushes, and keeps their order', async () => {
    const key = await harness.channel('restart')
    const client = new RawClient(harness.intake.port)
    const songs = ['1', '2', '3']
    await harness.nats.kill()
    for (const song of songs) {
      await client.write(`GET /metapush/${key}/${token}?song=${song} HTTP/1.1\r\nHost: x\r\n\r\n`)
    }
    await harness.nats.restart()
    for (const song of songs) assert.equal(json(await client.answer())['song'], song)
    client.socket.destroy()
    assert.deepEqual(
      (await harness.pushes(key)).map(({ element }) => element.song),
      songs,
    )
  })

  test('past the limit of waiting pushes the answer is 503 busy at once', async () => {
    const key = await harness.channel('busy')
    const intake = await harness.start({ queue: { maxWaiting: 1, deadlineMs: 300 } })
    harness.nats.pause()
    try {
      const waiting = push(intake.port, key, '1')
      const refused = await Promise.race([push(intake.port, key, '2'), waiting])
      assert.equal(refused.status, 503)
      assert.equal(json(refused)['code'], 'busy')
      assert.equal(refused.headers.get('retry-after'), '1')
      assert.equal(json(await waiting)['code'], 'unavailable')
    } finally {
      harness.nats.resume()
    }
  })

  test('who is not known takes few places: a flood of wrong tokens leaves room for those who push', async () => {
    const key = await harness.channel('flooded')
    const intake = await harness.start({ queue: { maxWaiting: 4, maxDoubtful: 2, deadlineMs: 3_000 } })
    assert.equal((await push(intake.port, key, 'before')).status, 200)
    harness.nats.pause()
    const wrong = (n: number) => `GET /metapush/${key}/${wrongToken}${n} HTTP/1.1\r\nHost: x\r\n\r\n`
    const client = new RawClient(intake.port)
    await client.write([1, 2, 3].map(wrong).join(''))
    const refused = () => metric(harness, 'intake_rejected_total{limit="doubtful"}')
    await waitFor(async () => (await refused()) === 1)
    const pushed = push(intake.port, key, 'after')
    await waitFor(async () => (await metric(harness, 'intake_waiting_pushes')) === 3)
    harness.nats.resume()
    assert.equal((await pushed).status, 200)
    const statuses = [await client.answer(), await client.answer(), await client.answer()]
    assert.deepEqual(
      statuses.map(({ status }) => status),
      [403, 403, 503],
    )
    client.socket.destroy()
  })

  test('at the limit of unanswered requests of a connection all are served; one past it is 503, in its order', async () => {
    const key = await harness.channel('unanswered')
    const intake = await harness.start({ maxUnanswered: 3 })
    const body = '{"song":"P","artist":"A","duration":1}'
    const get = (song: string) => `GET /metapush/${key}/${token}?song=${song} HTTP/1.1\r\nHost: x\r\n\r\n`
    const post = `POST /metapush/${key}/${token} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const ask = async (requests: string[]) => {
      const client = new RawClient(intake.port)
      await client.write(requests.join(''))
      const answers: string[] = []
      for (const _ of requests) {
        const answer = await client.answer()
        answers.push(answer.status === 200 ? String(json(answer)['song']) : (json(answer)['code'] as string))
      }
      await client.write(get('next'))
      assert.equal(json(await client.answer())['song'], 'next', 'the connection goes on')
      client.socket.destroy()
      return answers
    }
    assert.deepEqual(await ask([get('1'), post, get('3')]), ['1', 'P', '3'])
    assert.match(await harness.metrics.registry.metrics(), /^(?!.*limit="unanswered").*$/s)
    assert.deepEqual(await ask([post, get('2'), get('3'), post, get('5')]), ['P', '2', '3', 'busy', 'busy'])
    assert.equal(await metric(harness, 'intake_rejected_total{limit="unanswered"}'), 2)
  })

  test('a connection that asks without end is not read without end', async () => {
    const key = await harness.channel('endless')
    const intake = await harness.start({ queue: { deadlineMs: 3_000 } })
    harness.nats.pause()
    const client = new RawClient(intake.port)
    const requests = `GET /metapush/${key}/${token} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(20_000)
    const written = client.write(requests)
    const refused = () => metric(harness, 'intake_rejected_total{limit="unanswered"}')
    await waitFor(async () => (await refused()) > 2)
    // Others are served meanwhile, in whose turns much more of it would be read.
    for (let n = 0; n < 20; n++) assert.equal((await request(intake.port, '/')).status, 404)
    assert.ok((await refused()) < 5_000, `${await refused()} of 20,000 were read`)
    client.socket.destroy()
    harness.nats.resume()
    await written
  })

  test('drain: nothing new is accepted, what was taken is answered and its connection closed', async () => {
    const key = await harness.channel('drain')
    const intake = await harness.start()
    assert.equal(intake.unready(), null)
    const [kept, silent, inHead] = [
      new RawClient(intake.port),
      new RawClient(intake.port),
      new RawClient(intake.port),
    ]
    await kept.write(`GET /metapush/${key}/${token}?song=1 HTTP/1.1\r\nHost: x\r\n\r\n`)
    assert.equal((await kept.answer()).headers.get('connection'), 'keep-alive')
    await inHead.write(`GET /metapush/${key}/${token}?song=3`)
    const waiting = new RawClient(intake.port)
    harness.nats.pause()
    await waiting.write(`GET /metapush/${key}/${token}?song=2 HTTP/1.1\r\nHost: x\r\n\r\n`)
    await waitFor(async () => (await metric(harness, 'intake_waiting_pushes')) === 1)
    const drained = intake.drain()
    assert.equal(intake.unready(), 'the intake is draining')
    await kept.closed
    await silent.closed
    await assert.rejects(push(intake.port, key, 'new'))
    harness.nats.resume()
    await inHead.write(' HTTP/1.1\r\n\r\n')
    for (const client of [waiting, inHead]) {
      const answer = await client.answer()
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('connection'), 'close')
      await client.closed
    }
    await drained
    await intake.stop()
    assert.equal((await harness.pushes(key)).length, 3)
  })

  test('stop ends open connections', async () => {
    const intake = await harness.start()
    const client = new RawClient(intake.port)
    await client.write('GET /metap')
    await waitFor(async () => (await metric(harness, 'intake_first_heads')) === 1)
    await intake.stop()
    await client.closed
    await intake.stop()
  })

  test('a port in use and keys that are none are one clear line', async () => {
    const { port } = harness.intake
    const start = (config: object) => harness.start({ config: { ...harness.config, ...config } })
    await assert.rejects(start({ intakePort: port }), (error: unknown) => {
      assert.ok(error instanceof StartError)
      assert.equal(error.message, `the intake cannot listen on 127.0.0.1:${port}: the port is in use`)
      return true
    })
    const noPem = inRoot('package.json')
    for (const config of [
      { tlsCert: '/nowhere.pem', tlsKey: '/nowhere.pem' },
      { tlsCert: noPem, tlsKey: noPem },
      { tlsCert: noPem },
    ]) {
      await assert.rejects(start(config), (error: unknown) => {
        assert.ok(error instanceof StartError)
        assert.match(error.message, /^the intake .*$/)
        return true
      })
    }
  })

  test('TLS: a rude push over it is served too', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'nownext-tls-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const [tlsCert, tlsKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    if (!makeKeys(tlsCert, tlsKey)) return t.skip('there is no openssl to make a certificate with')
    const key = await harness.channel('tls')
    const intake = await harness.start({ config: { ...harness.config, tlsCert, tlsKey } })
    const socket = connectTls({ port: intake.port, host: '127.0.0.1', rejectUnauthorized: false })
    socket.end(`GET /metapush/${key}/${token}?song=T LS# HTTP/1.0\n\n`)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk)
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*"song":"T LS#"/)
    // Plain HTTP on the TLS port just closes.
    await assert.rejects(exchange(intake.port, 'GET / HTTP/1.0\r\n\r\n'))
    return undefined
  })

  test('no token is in what was logged', () => {
    for (const secret of [token, wrongToken]) assert.ok(!harness.printed().includes(secret))
  })
})

function makeKeys(cert: string, key: string): boolean {
  const config = join(cert, '..', 'openssl.cnf')
  writeFileSync(config, '[req]\ndistinguished_name=dn\nprompt=no\n[dn]\nCN=localhost\n')
  const wanted = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
  ]
  try {
    execFileSync('openssl', [...wanted, '-config', config, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function metric(harness: Harness, name: string): Promise<number> {
  const text = await harness.metrics.registry.metrics()
  const escaped = name.replace(/[{}]/g, '\\$&')
  return Number(new RegExp(`^nownext_${escaped} (\\d+)$`, 'm').exec(text)?.[1])
}

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(resolve => setImmediate(resolve))
}
