// Encoders that only speak Icecast or SHOUTcast (rule 30).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Answer, exchange, type Harness, json, startHarness, token, wrongToken } from './harness.ts'

describe('encoders that only speak Icecast or SHOUTcast', () => {
  let harness: Harness
  before(async () => {
    harness = await startHarness()
  })
  after(() => harness.stop())

  const basic = (password: string) =>
    `Authorization: Basic ${Buffer.from(`source:${password}`).toString('base64')}\r\n`
  const icecast = (query: string, headers = basic(token), method = 'GET'): Promise<Answer> =>
    exchange(harness.intake.port, `${method} /admin/metadata?${query} HTTP/1.0\r\n${headers}\r\n`)
  const shoutcast = (query: string): Promise<Answer> =>
    exchange(harness.intake.port, `GET /admin.cgi?${query} HTTP/1.0\nUser-Agent: Mozilla/4.0\n\n`)

  const stored = async (key: string) =>
    (await harness.pushes(key)).map(({ element, kind }) => [
      kind,
      element.artist,
      element.song,
      element.duration,
    ])

  test('Icecast: the mount is the channel, the password the token; the answer is its small XML', async () => {
    const key = await harness.channel('ice')
    const answer = await icecast(`mode=updinfo&mount=/${key}&song=Artist - Song - Live`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/xml; charset=utf-8')
    assert.match(answer.body, /<iceresponse><message>.+<\/message><return>1<\/return><\/iceresponse>/)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const more = [
      `mount=%2F${key}&song=Only%20a%20song`,
      `mount=/${key}&artist=A&title=T%E4`,
      `mount=/${key}&song=%C4&charset=ISO-8859-1`,
    ]
    for (const query of more) assert.equal((await icecast(`mode=updinfo&${query}`)).status, 200)
    assert.deepEqual(await stored(key), [
      ['now', 'Artist', 'Song - Live', 0],
      ['now', '', 'Only a song', 0],
      ['now', 'A', 'Tä', 0],
      ['now', '', 'Ä', 0],
    ])
  })

  test('SHOUTcast: pass is channelkey and token', async () => {
    const key = await harness.channel('shout')
    const answer = await shoutcast(`mode=updinfo&pass=${key}:${token}&song=Artist - S\xf6ng`)
    assert.equal(answer.status, 200)
    assert.deepEqual(await stored(key), [['now', 'Artist', 'Söng', 0]])
  })

  test('a wrong or missing password is 401 with WWW-Authenticate', async () => {
    const key = await harness.channel('pass')
    const answers = [
      await icecast(`mode=updinfo&mount=/${key}&song=x`, basic(wrongToken)),
      await icecast(`mode=updinfo&mount=/${key}&song=x`, ''),
      await icecast(`mode=updinfo&mount=/${key}&song=x`, 'Authorization: Basic !\r\n'),
      await shoutcast(`mode=updinfo&pass=${key}:${wrongToken}&song=x`),
      await shoutcast(`mode=updinfo&pass=${key}&song=x`),
    ]
    for (const answer of answers) {
      assert.equal(answer.status, 401)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /)
      assert.equal(json(answer)['code'], 'unauthorized')
    }
    // Asking without a password first is how these clients work: it is no guess.
    for (let n = 0; n < 20; n++) await icecast(`mode=updinfo&mount=/${key}&song=x`, '')
    assert.equal((await icecast(`mode=updinfo&mount=/${key}&song=x`, basic(wrongToken))).status, 401)
    assert.equal((await harness.pushes(key)).length, 0)
  })

  test('unknown mounts are 404, other commands and updates without a title 400, other methods 405', async () => {
    const key = await harness.channel('else')
    assert.equal((await icecast('mode=updinfo&mount=/nobody&song=x')).status, 404)
    assert.equal((await icecast('mode=updinfo&song=x')).status, 404)
    const fields = async (query: string) =>
      (json(await icecast(query))['errors'] as { field: string }[]).map(({ field }) => field)
    assert.deepEqual(await fields(`mount=/${key}&song=x`), ['mode'])
    assert.deepEqual(await fields(`mode=kick&mount=/${key}`), ['mode', 'song'])
    assert.deepEqual(await fields(`mode=updinfo&mount=/${key}&song=x&metaid=l`), ['metaid'])
    const post = await icecast(`mode=updinfo&mount=/${key}&song=x`, basic(token), 'POST')
    assert.equal(post.status, 405)
    assert.equal(post.headers.get('allow'), 'GET')
    assert.equal((await icecast(`mode=updinfo&mount=/${key}&song=`)).status, 200, 'an empty title is one')
    assert.equal((await harness.pushes(key)).length, 1)
  })

  test('no token is in what was logged', () => {
    for (const secret of [token, wrongToken]) assert.ok(!harness.printed().includes(secret))
  })
})
