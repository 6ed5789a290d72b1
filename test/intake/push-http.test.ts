// What HTTP shows of a push: status, headers, problem bodies, and what is stored (rules 1 to 12, 29).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Registry } from '../../src/log/registry.ts'
import { Tokens } from '../../src/log/tokens.ts'
import { openLog } from '../helpers/log.ts'
import {
  channelSettings,
  exchange,
  type Harness,
  json,
  RawClient,
  request,
  startHarness,
  token,
  wrongToken,
} from './harness.ts'

describe('push over HTTP', () => {
  let harness: Harness
  let port: number
  before(async () => {
    harness = await startHarness()
    port = harness.intake.port
  })
  after(() => harness.stop())

  const minimal = '{"song":"S","artist":"A","duration":1}'
  const post = (key: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    request(port, `/metapush/${key}/${token}`, { method: 'POST', body, headers })

  test('GET and POST answer with the object of spec 2.2, after the event is stored', async () => {
    const key = await harness.channel('answer')
    const query = 'song=S&artist=A&duration=225&etype=1001&isrc=X1&id=my-id&time=1795817833'
    const got = await request(port, `/metapush/${key}/${token}?${query}`)
    assert.equal(got.status, 200)
    assert.equal(got.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(got.headers.get('cache-control'), 'no-store')
    assert.equal(got.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(got.headers.get('x-content-type-options'), 'nosniff')
    const { warnings, ...answer } = json(got)
    assert.deepEqual(answer, {
      ...answer,
      duration: 225,
      song: 'S',
      artist: 'A',
      code: key,
      channelkey: key,
      timezone: 'Europe/Berlin',
      channel: key,
      id: 'my-id',
      userplayout: false,
      separator: ' - ',
      etype: 1001,
      album: '',
      type: 'now',
      isrc: 'X1',
    })
    assert.deepEqual(Object.keys(answer).length, 17)
    const [stored] = await harness.pushes(key)
    assert.equal(stored?.element.id, 'my-id')
    assert.equal(stored?.context.station, 'Radio')

    const posted = await post(
      key,
      JSON.stringify({ song: 'P', artist: 'A', duration: '12', tracktype: 'NEXT' }),
    )
    assert.equal(posted.status, 200)
    assert.equal(json(posted)['type'], 'next')
    assert.match(String(json(posted)['id']), /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
    assert.equal((await harness.pushes(key))[1]?.kind, 'next')
  })

  test('GET without a query is a push of nothing, now (rule 3)', async () => {
    const key = await harness.channel('bare')
    for (const path of [
      `/metapush/${key}/${token}`,
      `/metapush/${key}/${token}/`,
      `/metapush/${key}/${token}?`,
    ]) {
      const got = await request(port, path)
      assert.equal(got.status, 200, got.body)
      assert.deepEqual([json(got)['song'], json(got)['duration'], json(got)['warnings']], ['', 0, undefined])
    }
    assert.equal((await request(port, `/metapush/${key}/${token}//`)).status, 404)
  })

  test('Authorization: Bearer works like the token in the path', async () => {
    const key = await harness.channel('bearer')
    const push = (authorization: string | undefined, method = 'GET', path = `/metapush/${key}`) =>
      request(port, path, {
        method,
        headers: authorization === undefined ? {} : { authorization },
        ...(method === 'POST' && { body: minimal }),
      })
    assert.equal((await push(`Bearer ${token}`)).status, 200)
    assert.equal((await push(`bearer ${token}`, 'POST')).status, 200)
    assert.equal((await push(`Bearer ${token}`, 'GET', `/metapush/${key}/`)).status, 200)
    assert.equal((await push(`Bearer ${wrongToken}`)).status, 403)
    assert.equal((await push(undefined)).status, 403)
    assert.equal((await push(`Basic ${token}`)).status, 403)
  })

  test('repairs are told in warnings (rule 1)', async () => {
    const key = await harness.channel('repair')
    const got = json(
      await exchange(port, `GET /metapush/${key}/${token}?song=\xe4&duration=3:45 HTTP/1.0\r\n\r\n`),
    )
    assert.deepEqual([got['song'], got['duration']], ['ä', 225])
    assert.match(String(got['warnings']), /song: not valid UTF-8/)
  })

  test('every field at fault is named; nothing of it is stored (rule 29)', async () => {
    const key = await harness.channel('fault')
    const refused: [send: Promise<{ status: number; headers: Headers; body: string }>, fields: string[]][] = [
      [
        request(port, `/metapush/${key}/${token}?duration=x&time=y&etype=z&tracktype=q`),
        ['duration', 'etype', 'time', 'tracktype'],
      ],
      [request(port, `/metapush/${key}/${token}?id=${'x'.repeat(256)}`), ['id']],
      [request(port, `/metapush/${key}/${token}?song=x&metaid=a/b`), ['metaid']],
      [request(port, `/metapush/${key}/${token}?${'a&'.repeat(257)}`), ['query']],
      [
        request(port, `/metapush/${key}/${token}?song=x`, { headers: { 'idempotency-key': 'x'.repeat(65) } }),
        ['Idempotency-Key'],
      ],
      [
        request(port, `/metapush/${key}/${token}?song=x`, { headers: { 'idempotency-key': 'a b' } }),
        ['Idempotency-Key'],
      ],
      [post(key, '{"song":1}'), ['artist', 'duration', 'song']],
      [post(key, '{"song":"S","artist":"A","duration":true}'), ['duration']],
      [post(key, '{"song":"S","artist":"A","duration":-1,"extdata":[]}'), ['duration', 'extdata']],
      [post(key, '{"song":"S","duration":"soon","etype":"Nws"}'), ['artist', 'duration', 'etype']],
      [
        request(port, `/metapush/${key}/${token}?metaid=a/b&duration=x`, {
          headers: { 'idempotency-key': 'a b' },
        }),
        ['Idempotency-Key', 'duration', 'metaid'],
      ],
      [
        post(key, 'song=S&etype=x', { 'content-type': 'application/x-www-form-urlencoded' }),
        ['artist', 'duration', 'etype'],
      ],
      [request(port, `/metapush/${key}/${token}?metaid=..`, { method: 'POST', body: minimal }), ['metaid']],
      [post(key, 'song=S', { 'content-type': 'application/x-www-form-urlencoded' }), ['artist', 'duration']],
    ]
    for (const [sent, fields] of refused) {
      const answer = await sent
      assert.equal(answer.status, 400, answer.body)
      assert.equal(answer.headers.get('content-type'), 'application/problem+json')
      const { errors, ...problem } = json(answer) as Record<string, unknown> & {
        errors: { field: string; message: string }[]
      }
      assert.deepEqual(errors.map(({ field }) => field).sort(), fields)
      assert.ok(errors.every(({ message }) => message !== ''))
      const reasons = errors.map(({ field, message }) => `${field} ${message}`)
      assert.equal(problem['detail'], `${reasons.join('; ')}.`)
      assert.deepEqual(Object.keys(problem), ['type', 'title', 'status', 'detail', 'code'])
    }
    assert.equal((await harness.pushes(key)).length, 0)
  })

  test('a body that is no object, or nested too deep, is malformed (rule 9)', async () => {
    const key = await harness.channel('malformed')
    const nested = (depth: number) =>
      `{"song":"S","artist":"A","duration":1,"extdata":${'{"a":'.repeat(depth - 2)}{}${'}'.repeat(depth - 2)}}`
    assert.equal((await post(key, nested(16))).status, 200)
    for (const body of [
      '',
      '[]',
      '"x"',
      '{',
      'null',
      '{"song":"S","artist":"A","duration":1}}',
      nested(17),
    ]) {
      const answer = await post(key, body)
      assert.equal(answer.status, 400, body)
      assert.equal(json(answer)['code'], 'malformed')
    }
  })

  test('content types: JSON, text, none, a form, with their charset; else 415 (rule 9)', async () => {
    const key = await harness.channel('types')
    const windows = Uint8Array.from(Buffer.from('{"song":"S\xe4","artist":"A","duration":1}', 'latin1'))
    const song = async (body: string | Uint8Array<ArrayBuffer>, type: string) =>
      json(await post(key, body, { 'content-type': type }))
    assert.equal((await song(minimal, 'application/json'))['song'], 'S')
    assert.equal((await song(minimal, 'text/plain'))['song'], 'S')
    const charset = await song(windows, 'application/json; charset=windows-1252')
    assert.deepEqual([charset['song'], charset['warnings']], ['Sä', undefined])
    assert.match(String((await song(windows, 'application/json'))['warnings']), /not valid UTF-8/)
    const form = 'song=S%C3%A4+1&artist=A&duration=3:00'
    const formed = await song(form, 'application/x-www-form-urlencoded')
    assert.deepEqual([formed['song'], formed['duration']], ['Sä 1', 180])
    const windowsForm = await song(
      'song=S%E4&artist=A&duration=',
      'application/x-www-form-urlencoded; charset=iso-8859-1',
    )
    assert.deepEqual([windowsForm['song'], windowsForm['warnings']], ['Sä', undefined])
    assert.equal((await song(minimal, 'image/png'))['code'], 'unsupported-media-type')
    const none = await exchange(
      port,
      `POST /metapush/${key}/${token} HTTP/1.1\r\nContent-Type:\r\nContent-Length: ${minimal.length}\r\n\r\n${minimal}`,
    )
    assert.equal(none.status, 200)
  })

  test('a body of 64 KiB passes, one byte more is 413, also chunked; far more is refused at once', async () => {
    const key = await harness.channel('size')
    const sized = (bytes: number) => {
      const [start, end] = ['{"song":"S","artist":"A","duration":1,"x":"', '"}']
      return start + 'x'.repeat(bytes - start.length - end.length) + end
    }
    assert.equal((await post(key, sized(65_536))).status, 200)
    const over = await post(key, sized(65_537))
    assert.equal(over.status, 413)
    assert.equal(json(over)['code'], 'too-large')
    const chunk = sized(65_537)
    const chunked = await exchange(
      port,
      `POST /metapush/${key}/${token} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`,
    )
    assert.equal(chunked.status, 413)
    const endless = new RawClient(port)
    void endless.write(
      `POST /metapush/${key}/${token} HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n${'x'.repeat(2_000_000)}`,
    )
    assert.equal((await endless.answer()).status, 413)
    await endless.closed
    assert.equal((await harness.pushes(key)).length, 1)
    assert.match(await harness.metrics.registry.metrics(), /intake_rejected_total\{limit="body"\} 3/)
  })

  test('unknown channels are 404, whatever the token; wrong tokens are 403', async () => {
    const key = await harness.channel('known')
    for (const path of [
      `/metapush/${key}x/${token}`,
      `/metapush/KNOWN/${token}`,
      `/metapush/a.b/${token}`,
      `/metapush/a%2Fb/${token}`,
      `/metapush/${'k'.repeat(65)}/${token}`,
    ]) {
      const answer = await request(port, path)
      assert.equal(answer.status, 404, path)
      assert.equal(json(answer)['code'], 'unknown-channel')
    }
    const wrong = await request(port, `/metapush/${key}/${wrongToken}?song=x`)
    assert.equal(wrong.status, 403)
    assert.equal(json(wrong)['code'], 'wrong-token')
    assert.equal((await request(port, `/metapush/${key}/${'t'.repeat(5_000)}`)).status, 403)
    assert.equal((await harness.pushes(key)).length, 0)
  })

  test('a channel and a token that were just created work at once', async () => {
    const answer = request(port, `/metapush/fresh/${token}`)
    assert.equal((await answer).status, 404)
    await harness.channel('fresh')
    assert.equal((await request(port, `/metapush/fresh/${token}`)).status, 200)
  })

  test('other methods are 405 with Allow, HEAD too: it never pushes; other paths 404', async () => {
    const key = await harness.channel('methods')
    for (const path of [
      `/metapush/${key}/${token}?song=x`,
      `/metapush/${key}`,
      `/metapush/${key}/${token}/`,
    ]) {
      for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND', 'SOURCE']) {
        const answer = await exchange(port, `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
        assert.equal(answer.status, 405, `${method} ${path}`)
        assert.equal(answer.headers.get('allow'), 'GET, POST')
        assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
      }
    }
    for (const path of [
      '/',
      '/metapush',
      '/metapush/',
      `/metapush/${key}/${token}/more`,
      '/favicon.ico',
      '*',
    ]) {
      const answer = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      assert.equal(answer.status, 404, path)
      assert.equal(json(answer)['code'], 'not-found')
    }
    const noEscape = await exchange(port, `GET /metapush/${key}/%zz HTTP/1.1\r\nHost: x\r\n\r\n`)
    assert.equal(noEscape.status, 400)
    assert.equal((await harness.pushes(key)).length, 0)
  })

  test('a link preview must not push (rule 3)', async () => {
    const key = await harness.channel('prefetch')
    for (const header of ['Sec-Purpose: prefetch;prerender', 'Purpose: prefetch']) {
      const answer = await exchange(
        port,
        `GET /metapush/${key}/${token}?song=x HTTP/1.1\r\n${header}\r\n\r\n`,
      )
      assert.equal(answer.status, 400)
      assert.equal(json(answer)['code'], 'prefetch')
    }
    assert.equal((await harness.pushes(key)).length, 0)
  })

  test('an Idempotency-Key makes a repeated push one event, with equal ids (rule 11)', async () => {
    const [key, other] = [await harness.channel('repeat'), await harness.channel('repeat-other')]
    const headers = { 'idempotency-key': 'k.1' }
    const push = async (channelkey: string, query = 'song=x') =>
      json(await request(port, `/metapush/${channelkey}/${token}?${query}`, { headers }))
    const [first, second] = [await push(key), await push(key)]
    assert.equal(first['id'], second['id'])
    assert.equal((await harness.pushes(key)).length, 1)
    const elsewhere = await push(other)
    assert.notEqual(elsewhere['id'], first['id'])
    assert.equal((await harness.pushes(other)).length, 1)
    assert.equal((await push(key, 'id=mine'))['id'], 'mine')

    const without = () =>
      request(port, `/metapush/${other}/${token}?song=x`, { headers: { 'idempotency-key': '' } })
    assert.notEqual(json(await without())['id'], json(await without())['id'])
    assert.equal((await harness.pushes(other)).length, 3)
    const longest = await request(port, `/metapush/${key}/${token}`, {
      headers: { 'idempotency-key': '~'.repeat(64) },
    })
    assert.equal(longest.status, 200)
  })

  test('an Idempotency-Key counts within one life of its channel, on every intake (rule 11)', async () => {
    const key = await harness.channel('reborn')
    const another = await harness.start()
    const send = async (at: number) => {
      const headers = { 'idempotency-key': 'k' }
      const answer = await request(at, `/metapush/${key}/${token}?song=x`, { headers })
      assert.equal(answer.status, 200, answer.body)
      return json(answer)['id']
    }
    const stored = async () => (await harness.pushes(key)).length
    const first = await send(port)
    await harness.registry.putChannel({ ...channelSettings(key), name: 'renamed' })
    assert.equal(await send(another.port), first, 'an option that changes begins no new life')
    assert.equal(await stored(), 1)
    for (const life of [2, 3]) {
      await harness.registry.removeChannel(key)
      await harness.channel(key)
      const id = await send(another.port)
      assert.notEqual(id, first)
      assert.equal(await send(port), id)
      assert.equal(await stored(), life, 'stored, not taken for a repeat of what came before the removal')
    }
  })

  test('an intake that has not seen yet how a channel was made anew pushes to its new life', async t => {
    const key = await harness.channel('anew')
    const { connection } = await openLog(harness.nats.url)
    t.after(() => connection.close())
    const [registry, tokens] = [new Registry(connection), new Tokens(connection)]
    await Promise.all([registry.start(), tokens.start()])
    const late = await harness.start({ registry, tokens })
    await Promise.all([registry.stop(), tokens.stop()])
    await harness.registry.removeChannel(key)
    await harness.tokens.revokeAll(key)
    const { revision } = await harness.registry.putChannel(channelSettings(key))
    const newToken = 'token-of-the-second-life-0123456789'
    await harness.tokens.add(key, newToken, 'test')
    assert.equal((await request(late.port, `/metapush/${key}/${newToken}?song=x`)).status, 200)
    const [stored] = await harness.pushes(key)
    assert.equal(stored?.context.revision, revision)
  })

  test('a start too far ahead is a wrong clock, and the answer says so (rule 15)', async () => {
    const key = await harness.channel('clock')
    const ahead = Math.floor(Date.now() / 1000) + 3600
    const answer = json(await request(port, `/metapush/${key}/${token}?song=x&time=${ahead}`))
    assert.notEqual(answer['start_timestamp'], ahead)
    assert.match(String(answer['warnings']), /time: .* too far ahead/)
    const [stored] = await harness.pushes(key)
    assert.equal(stored?.explicit, false)
  })

  test('the burst passes, one past it is 429 with Retry-After, and only its channel (rule 12)', async () => {
    const [key, other] = [await harness.channel('rate'), await harness.channel('rate-other')]
    const intake = await harness.start({ config: { ...harness.config, pushRate: 0.5 } })
    const push = (channelkey: string) => request(intake.port, `/metapush/${channelkey}/${token}?song=x`)
    // Wrong tokens are not charged.
    assert.equal((await request(intake.port, `/metapush/${key}/${wrongToken}`)).status, 403)
    assert.equal((await push(key)).status, 200)
    const refused = await push(key)
    assert.equal(refused.status, 429)
    assert.equal(json(refused)['code'], 'too-many-pushes')
    assert.ok(['1', '2'].includes(refused.headers.get('retry-after') ?? ''))
    assert.equal((await push(other)).status, 200)
    assert.match(await harness.metrics.registry.metrics(), /intake_rejected_total\{limit="push-rate"\} 1/)
  })

  test('ten wrong tokens a minute, the eleventh is 429; right ones pass all the while (rule 12)', async () => {
    const key = await harness.channel('guess')
    const intake = await harness.start()
    const push = (tried: string) => request(intake.port, `/metapush/${key}/${tried}?song=x`)
    for (let n = 0; n < 10; n++) {
      assert.equal((await push(`${wrongToken}${n}`)).status, 403)
      assert.equal((await push(token)).status, 200)
    }
    const refused = await push(wrongToken)
    assert.equal(refused.status, 429)
    assert.equal(json(refused)['code'], 'too-many-wrong-tokens')
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.equal((await push(token)).status, 200)
  })

  test('a fault of our own is 500 without a stack, and its log line has no address', async () => {
    const key = await harness.channel('broken')
    const intake = await harness.start({ events: { append: () => Promise.reject(new TypeError('a fault')) } })
    const answer = await request(intake.port, `/metapush/${key}/${token}?song=x`)
    assert.equal(answer.status, 500)
    assert.deepEqual(Object.keys(json(answer)), ['type', 'title', 'status', 'detail', 'code'])
    assert.ok(!answer.body.includes('a fault'))
    assert.match(harness.printed(), /a fault/)
  })

  test('no token is in what was logged, counted and stored', async () => {
    const counted = await harness.metrics.registry.metrics()
    const stored =
      JSON.stringify(await harness.pushes('known')) + JSON.stringify(await harness.pushes('answer'))
    for (const secret of [token, wrongToken]) {
      for (const text of [harness.printed(), counted, stored]) assert.ok(!text.includes(secret))
    }
    assert.match(counted, /intake_pushes_total\{status="403"\}/)
  })
})
