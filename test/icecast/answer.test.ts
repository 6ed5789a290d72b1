import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MountError, readSourceStart, readUpdate } from '../../src/icecast/answer.ts'

const iceresponse = (message: string) =>
  `<?xml version="1.0"?>\n<iceresponse><message>${message}</message><return>1</return></iceresponse>\n`

test('Icecast says 200 and return 1 to nearly everything: the words decide', () => {
  const read = (body: string, status = 200) => readUpdate({ status, body })
  assert.equal(read(iceresponse('Metadata update successful')), 'taken')
  assert.equal(read('<p>Message: Metadata update successful</p>'), 'taken')
  assert.equal(read(iceresponse('Mountpoint will not accept URL updates')), 'not accepted')
  assert.equal(read(iceresponse('Mountpoint will not accept this URL update')), 'not accepted')
})

test('why a title was not taken', () => {
  const table: Array<[status: number, body: string, reason: RegExp]> = [
    [400, '<b>Source does not exist</b>', /^no source is connected to the mount$/],
    [400, '<b>Source is not available</b>', /^no source is connected to the mount$/],
    [401, 'You need to authenticate', /^user or password is refused \(401\)$/],
    [403, '', /^user or password is refused \(403\)$/],
    [302, 'Metadata update successful', /^the server redirects \(302\); give its own url$/],
    [404, 'very-secret-password', /^the server answers 404, not as Icecast does$/],
    [200, '<html>very-secret-password', /^the server answers 200, not as Icecast does$/],
    [500, 'Metadata update successful', /^the server answers 500, not as Icecast does$/],
  ]
  for (const [status, body, message] of table) {
    assert.throws(
      () => readUpdate({ status, body }),
      error => error instanceof MountError && message.test(error.message),
    )
  }
})

test('since when the source is there', () => {
  const source = (mount: string, facts: string) =>
    `<source mount="${mount}"><genre>x</genre>${facts}</source>`
  const icecast = source(
    '/live',
    '<stream_start>Fri, 27 Nov 2026 22:14:42 +0000</stream_start><stream_start_iso8601>x</stream_start_iso8601>',
  )
  // icecast-kh tells of all its mounts.
  const kh = `<icestats>\n${source('/a', '<stream_start>1</stream_start>')}\n${source('/b&amp;c', '\n<stream_start>2</stream_start>')}</icestats>`
  const read = (body: string, mount: string, status = 200) => readSourceStart({ status, body }, mount)
  assert.equal(read(icecast, '/live'), 'Fri, 27 Nov 2026 22:14:42 +0000')
  assert.equal(read(kh, '/a'), '1')
  assert.equal(read(kh, '/b&c'), '2')
  assert.equal(read(kh, '/other'), undefined)
  assert.equal(read(source('/live', ''), '/live'), undefined)
  assert.equal(read('not found', '/live', 404), undefined)
  assert.throws(() => read('Source does not exist', '/live', 400), MountError)
  assert.throws(() => read('', '/live', 401), MountError)
})
