// Encoders are rude (rule 10): raw bytes over real connections, down to the log.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { exchange, type Harness, json, RawClient, startHarness, token } from './harness.ts'

/** Lets the server in this process read what was written before more is written. */
const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve))

describe('rude requests', () => {
  let harness: Harness
  before(async () => {
    harness = await startHarness()
  })
  after(() => harness.stop())

  const path = (key: string) => `/metapush/${key}/${token}`

  test('every rude form of a first request is served', async () => {
    const key = await harness.channel('forms')
    const { port } = harness.intake
    const body = '{"song":"S","artist":"A","duration":1}'
    const forms: [why: string, bytes: string, song: string][] = [
      ['HTTP/1.0 without Host', `GET ${path(key)}?song=one HTTP/1.0\r\n\r\n`, 'one'],
      ['HTTP/1.1 without Host', `GET ${path(key)}?song=two HTTP/1.1\r\n\r\n`, 'two'],
      ['bare line feeds', `GET ${path(key)}?song=three HTTP/1.0\nHost: x\nUser-Agent: y\n\n`, 'three'],
      ['raw windows-1252', `GET ${path(key)}?song=\xc4pfel&encoding=windows HTTP/1.0\r\n\r\n`, 'Äpfel'],
      ['raw UTF-8', `GET ${path(key)}?song=\xc3\x84pfel HTTP/1.0\r\n\r\n`, 'Äpfel'],
      ['blanks and a hash', `GET ${path(key)}?song=Take 5 #1&artist=x HTTP/1.0\r\n\r\n`, 'Take 5 #1'],
      ['no version', `GET ${path(key)}?song=four\r\n\r\n`, 'four'],
      [
        'absolute-form',
        `GET http://radio.example:8100${path(key)}?song=five HTTP/1.1\r\nHost: x\r\n\r\n`,
        'five',
      ],
      ['empty lines before', `\r\n\r\nGET ${path(key)}?song=six HTTP/1.1\r\nHost: x\r\n\r\n`, 'six'],
      ['raw bytes in a header', `GET ${path(key)}?song=seven HTTP/1.0\nUser-Agent: B\xfcro\n\n`, 'seven'],
      [
        'chunked',
        `POST ${path(key)} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n${body.slice(0, 16)}\r\n${(body.length - 16).toString(16)}\r\n${body.slice(16)}\r\n0\r\n\r\n`,
        'S',
      ],
      [
        'chunked behind a head with bare line feeds',
        `POST ${path(key)} HTTP/1.1\nTransfer-Encoding: chunked\n\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        'S',
      ],
      ['an unknown expectation', `GET ${path(key)}?song=eight HTTP/1.1\r\nExpect: much\r\n\r\n`, 'eight'],
      ['HTTP/1.0 with a body', `POST ${path(key)} HTTP/1.0\nContent-Length: ${body.length}\n\n${body}`, 'S'],
    ]
    for (const [why, bytes, song] of forms) {
      const answer = await exchange(port, bytes)
      assert.equal(answer.status, 200, `${why}: ${answer.body}`)
      assert.equal(json(answer)['song'], song, why)
    }
    const stored = await harness.pushes(key)
    assert.deepEqual(
      stored.map(push => push.element.song),
      forms.map(([, , song]) => song),
    )
  })

  test('Expect: 100-continue is answered before the body', async () => {
    const key = await harness.channel('expect')
    const client = new RawClient(harness.intake.port)
    const body = '{"song":"S","artist":"A","duration":1}'
    await client.write(
      `POST ${path(key)} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    await new Promise(resolve => client.socket.once('data', resolve))
    await client.write(body)
    assert.equal((await client.answer()).status, 200)
    client.socket.destroy()
  })

  test('a push is taken wherever its bytes are split', async () => {
    const key = await harness.channel('split')
    const body = '{"song":"S\xe4","artist":"A","duration":1}'
    const requests = [
      `GET ${path(key)}?song=B\xe4r #1 HTTP/1.0\nHost: x\n\n`,
      `POST ${path(key)} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ]
    const sendSplit = async (bytes: string, at: number) => {
      const client = new RawClient(harness.intake.port)
      await client.write(bytes.slice(0, at))
      await nextTurn()
      await client.write(bytes.slice(at))
      const answer = await client.answer()
      client.socket.destroy()
      assert.equal(answer.status, 200, `split at ${at} of ${JSON.stringify(bytes)}: ${answer.body}`)
    }
    let sent = 0
    for (const bytes of requests) {
      const positions = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1)
      sent += positions.length
      for (let from = 0; from < positions.length; from += 16) {
        await Promise.all(positions.slice(from, from + 16).map(at => sendSplit(bytes, at)))
      }
    }
    const songs = new Set((await harness.pushes(key)).map(push => push.element.song))
    assert.deepEqual(songs, new Set(['Bär #1', 'Sä']))
    assert.equal((await harness.pushes(key)).length, sent)
  })

  test('one byte a segment', async () => {
    const key = await harness.channel('bytes')
    const client = new RawClient(harness.intake.port)
    for (const byte of `GET ${path(key)}?song=B\xe4r HTTP/1.0\n\n`) {
      await client.write(byte)
      await nextTurn()
    }
    assert.equal(json(await client.answer())['song'], 'Bär')
    client.socket.destroy()
  })

  test('requests pipelined behind a mended first one are answered and stored in order', async () => {
    const key = await harness.channel('pipeline')
    const client = new RawClient(harness.intake.port)
    const body = '{"song":"2","artist":"A","duration":1}'
    const post = `POST ${path(key)} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const get = (song: string) => `GET ${path(key)}?song=${song} HTTP/1.1\r\nHost: x\r\n\r\n`
    await client.write(
      `GET ${path(key)}?song=\xe41 HTTP/1.1\nHost: x\n\n${post}${get('3')}${get('4')}${post}${get('6#')}`,
    )
    const songs: unknown[] = []
    for (let n = 0; n < 6; n++) songs.push(json(await client.answer())['song'])
    const expected = ['ä1', '2', '3', '4', '2', '6#']
    assert.deepEqual(songs, expected)
    const stored = (await harness.pushes(key)).map(push => push.element.song)
    assert.deepEqual(stored, expected)
    client.socket.destroy()
  })

  test('a later request must be well-formed: earlier ones are answered, then 400, then the connection closes', async () => {
    const key = await harness.channel('later')
    const client = new RawClient(harness.intake.port)
    await client.write(
      `GET ${path(key)}?song=1 HTTP/1.1\nHost: x\n\nGET ${path(key)}?song=a b HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
    )
    assert.equal((await client.answer()).status, 200)
    const refused = await client.answer()
    assert.equal(refused.status, 400)
    assert.equal(refused.headers.get('content-type'), 'application/problem+json')
    assert.equal(refused.headers.get('connection'), 'close')
    assert.equal(json(refused)['code'], 'malformed')
    await client.closed
    assert.equal((await harness.pushes(key)).length, 1)
  })

  test('a push that arrived whole is applied though its sender is gone', async () => {
    const key = await harness.channel('gone')
    const body = '{"song":"P","artist":"A","duration":1}'
    const requests = [
      `GET ${path(key)}?song=G HTTP/1.0\n\n`,
      `POST ${path(key)} HTTP/1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ]
    for (const bytes of requests) {
      const client = new RawClient(harness.intake.port)
      await client.write(bytes)
      client.socket.destroy()
      await client.closed
    }
    // A third one, from a sender that waits, is stored behind them.
    await exchange(harness.intake.port, `GET ${path(key)}?song=last HTTP/1.0\r\n\r\n`)
    const songs = (await harness.pushes(key)).map(push => push.element.song)
    assert.deepEqual(songs, ['G', 'P', 'last'])
  })

  test('a sender that closes its half after the request still gets the answer', async () => {
    const key = await harness.channel('half')
    const client = new RawClient(harness.intake.port)
    client.socket.end(`GET ${path(key)}?song=half HTTP/1.1\n\n`)
    assert.equal(json(await client.answer())['song'], 'half')
    await client.closed
  })

  test('a push that was cut off is not applied', async () => {
    const key = await harness.channel('cut')
    const parts = [
      `GET ${path(key)}?song=never HTTP/1.1\r\nHost: x\r\n`,
      `POST ${path(key)} HTTP/1.1\r\nContent-Length: 39\r\n\r\n{"song":"S","artist":"A","duration":1}`,
    ]
    for (const bytes of parts) {
      const client = new RawClient(harness.intake.port)
      client.socket.end(Buffer.from(bytes))
      await client.closed
    }
    await exchange(harness.intake.port, `GET ${path(key)}?song=whole HTTP/1.0\r\n\r\n`)
    assert.deepEqual(
      (await harness.pushes(key)).map(push => push.element.song),
      ['whole'],
    )
  })

  test('a head of 16 KiB passes, one byte more is 413 and the connection closes', async () => {
    const key = await harness.channel('head')
    const head = (length: number) => {
      const [start, end] = [`GET ${path(key)}?song=h&pad=`, ' HTTP/1.1\n\n']
      return `${start}${'\xe4'.repeat(length - start.length - end.length)}${end}`
    }
    const atLimit = await exchange(harness.intake.port, head(16_384))
    assert.equal(atLimit.status, 200, atLimit.body)
    const client = new RawClient(harness.intake.port)
    await client.write(head(16_385))
    const over = await client.answer()
    assert.equal(over.status, 413)
    assert.equal(json(over)['code'], 'too-large')
    await client.closed
    const later = new RawClient(harness.intake.port)
    await later.write(
      `GET ${path(key)} HTTP/1.1\n\nGET ${path(key)}?pad=${'x'.repeat(50_000)} HTTP/1.1\r\n\r\n`,
    )
    assert.equal((await later.answer()).status, 200)
    assert.equal((await later.answer()).status, 413)
    await later.closed
    assert.match(await harness.metrics.registry.metrics(), /intake_rejected_total\{limit="head"\} 2/)
  })

  test('a head that does not come in time is refused; nobody else waits', async () => {
    const key = await harness.channel('slow')
    const intake = await harness.start({ front: { headTimeoutMs: 50 } })
    const slow = new RawClient(intake.port)
    await slow.write(`GET ${path(key)}?song=slow`)
    assert.equal((await exchange(intake.port, `GET ${path(key)}?song=fast HTTP/1.0\r\n\r\n`)).status, 200)
    const refused = await slow.answer()
    assert.equal(refused.status, 400)
    assert.equal(refused.headers.get('cache-control'), 'no-store')
    await slow.closed
    assert.match(await harness.metrics.registry.metrics(), /intake_rejected_total\{limit="head-time"\} 1/)
  })

  test('a body that does not come in time is refused', async () => {
    const key = await harness.channel('body-time')
    const intake = await harness.start({ requestTimeoutMs: 100 })
    const slow = new RawClient(intake.port)
    await slow.write(`POST ${path(key)} HTTP/1.1\r\nHost: x\r\nContent-Length: 39\r\n\r\n{"song":`)
    assert.equal((await slow.answer()).status, 400)
    await slow.closed
    assert.match(await harness.metrics.registry.metrics(), /intake_rejected_total\{limit="request-time"\} 1/)
  })

  test('at the limit of connections in their first head all wait; one past it the oldest is refused', async () => {
    const key = await harness.channel('crowd')
    const intake = await harness.start({ front: { maxPending: 2 } })
    const oldest = new RawClient(intake.port)
    await oldest.write('GET /')
    const second = new RawClient(intake.port)
    await second.write(`GET ${path(key)}?song=second`)
    const third = new RawClient(intake.port)
    await third.write(`GET ${path(key)}?song=third HTTP/1.0\r\n\r\n`)
    const refused = await oldest.answer()
    assert.equal(refused.status, 503)
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.equal((await third.answer()).status, 200)
    await second.write(' HTTP/1.0\r\n\r\n')
    assert.equal((await second.answer()).status, 200)
    assert.match(await harness.metrics.registry.metrics(), /intake_rejected_total\{limit="first-heads"\} 1/)
  })

  test('at the limit of connections all are served, and one past it is dropped', async () => {
    const key = await harness.channel('connections')
    const intake = await harness.start({ config: { ...harness.config, maxConnections: 2 } })
    const clients: RawClient[] = []
    const body = '{"song":"x","artist":"","duration":0}'
    const head = `POST ${path(key)} HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n`
    for (let n = 0; n < 2; n++) {
      const client = new RawClient(intake.port)
      clients.push(client)
      await client.write(`GET ${path(key)}?song=x HTTP/1.1\r\n\r\n`)
      assert.equal((await client.answer()).status, 200)
      await client.write(head)
    }
    await assert.rejects(
      exchange(intake.port, `GET ${path(key)}?song=x HTTP/1.0\r\n\r\n`),
      /closed without an answer/,
    )
    assert.match(await harness.metrics.registry.metrics(), /connections_dropped_total\{listener="intake"\} 1/)
    for (const client of clients) {
      await client.write(body)
      assert.equal((await client.answer()).status, 200)
    }
  })

  test('connections that say nothing keep nobody out', async () => {
    const key = await harness.channel('silent')
    const intake = await harness.start({ config: { ...harness.config, maxConnections: 8 } })
    const silent = Array.from({ length: 4 }, () => new RawClient(intake.port))
    for (let n = 0; n < 8; n++) {
      const answer = await exchange(intake.port, `GET ${path(key)}?song=x HTTP/1.0\r\n\r\n`)
      assert.equal(answer.status, 200)
      silent.push(new RawClient(intake.port))
    }
    for (const client of silent) client.socket.destroy()
  })

  test('what is no push behind pushes takes none of their answers', async () => {
    const key = await harness.channel('behind')
    const client = new RawClient(harness.intake.port)
    const get = `GET ${path(key)}?song=x HTTP/1.1\r\nHost: x\r\n\r\n`
    await client.write(`${get}${get}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`)
    const statuses = [await client.answer(), await client.answer(), await client.answer()].map(a => a.status)
    assert.deepEqual(statuses, [200, 200, 400])
  })

  test('no token is in what was logged and counted', async () => {
    assert.ok(harness.printed().includes('the intake listens'))
    assert.ok(!harness.printed().includes(token))
    assert.ok(!(await harness.metrics.registry.metrics()).includes(token))
  })
})
