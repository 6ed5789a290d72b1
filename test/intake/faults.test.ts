// Whatever a request to the intake lacks, its answer is a problem (rule 29).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { problemContentType } from '../../src/api/errors.ts'
import { exchange, type Harness, json, RawClient, startHarness, token } from './harness.ts'

describe('faulty requests', () => {
  let harness: Harness
  before(async () => {
    harness = await startHarness()
    await harness.channel('main')
  })
  after(() => harness.stop())

  const path = `/metapush/main/${token}`
  const cases: Array<[what: string, request: string, status: number, code: string]> = [
    ['no such path', 'GET /nowhere HTTP/1.1\r\n\r\n', 404, 'not-found'],
    ['another method', `PUT ${path} HTTP/1.1\r\n\r\n`, 405, 'method-not-allowed'],
    ['a method of WebDAV', `PROPFIND ${path} HTTP/1.1\r\n\r\n`, 405, 'method-not-allowed'],
    ['an escape that is none', 'GET /metapush/%zz/x HTTP/1.1\r\n\r\n', 400, 'malformed'],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n', 400, 'malformed'],
    ['no HTTP at all', 'hello\r\nworld\r\n\r\n', 400, 'malformed'],
    [
      'a later head that is too large',
      `GET /nowhere?${'x'.repeat(60_000)} HTTP/1.1\r\n\r\n`,
      413,
      'too-large',
    ],
    ['a type', `POST ${path} HTTP/1.1\r\nContent-Type: image/png\r\nContent-Length: 1\r\n\r\nx`, 415, ''],
    ['no JSON', `POST ${path} HTTP/1.1\r\nContent-Length: 1\r\n\r\nx`, 400, 'malformed'],
    [
      'two lengths',
      `POST ${path} HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx`,
      400,
      'malformed',
    ],
  ]
  for (const [what, request, status, code] of cases) {
    test(`${what}: ${status}`, async () => {
      const answer = await exchange(harness.intake.port, request)
      assert.equal(answer.status, status, answer.body)
      assert.equal(answer.headers.get('content-type'), problemContentType)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      const problem = json(answer)
      if (code !== '') assert.equal(problem['code'], code)
      assert.equal(problem['status'], status)
      assert.ok(!answer.body.includes(token))
    })
  }

  test('CONNECT behind another request is answered too', async () => {
    const client = new RawClient(harness.intake.port)
    await client.write('GET /nowhere HTTP/1.1\r\n\r\nCONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')
    assert.equal((await client.answer()).status, 404)
    assert.equal((await client.answer()).status, 400)
    await client.closed
  })
})
