import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { headEnd, leadingLineEnds, mendHead } from '../../src/intake/mend.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

const mended: [why: string, sent: string, becomes: string][] = [
  ['raw 8-bit bytes', 'GET /m?song=\xe4\xff HTTP/1.0\r\n\r\n', 'GET /m?song=%E4%FF HTTP/1.0\r\n\r\n'],
  [
    'blanks in the target',
    'GET /m?song=a b  c HTTP/1.1\r\n\r\n',
    'GET /m?song=a%20b%20%20c HTTP/1.1\r\n\r\n',
  ],
  [
    'one blank is the version’s, the rest the target’s',
    'GET /m?s= -  HTTP/1.1\r\n\r\n',
    'GET /m?s=%20-%20 HTTP/1.1\r\n\r\n',
  ],
  ['a hash', 'GET /m?song=#1 HTTP/1.1\r\n\r\n', 'GET /m?song=%231 HTTP/1.1\r\n\r\n'],
  [
    'control characters',
    'GET /m?song=a\tb\x00\x7f HTTP/1.1\r\n\r\n',
    'GET /m?song=a%09b%00%7F HTTP/1.1\r\n\r\n',
  ],
  ['a carriage return inside', 'GET /m?song=a\rb HTTP/1.1\r\n\r\n', 'GET /m?song=a%0Db HTTP/1.1\r\n\r\n'],
  ['bare line feeds', 'GET /m HTTP/1.1\nHost: x\nA: b\n\n', 'GET /m HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n'],
  ['mixed line ends', 'GET /m HTTP/1.1\r\nHost: x\nA: b\r\n\n', 'GET /m HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n'],
  ['no version', 'GET /m?song=a b\r\n\r\n', 'GET /m?song=a%20b HTTP/1.0\r\n\r\n'],
  ['no version, bare line feeds', 'GET /m\n\n', 'GET /m HTTP/1.0\r\n\r\n'],
  [
    'a title that holds a version',
    'GET /m?s=HTTP/1.1 HTTP/1.0\r\n\r\n',
    'GET /m?s=HTTP/1.1 HTTP/1.0\r\n\r\n',
  ],
  [
    'a title that ends with a version',
    'GET /m?s=x HTTP/1.1 HTTP/1.0\r\n\r\n',
    'GET /m?s=x%20HTTP/1.1 HTTP/1.0\r\n\r\n',
  ],
  ['a version in lower case', 'GET /m http/1.1\r\n\r\n', 'GET /m HTTP/1.1\r\n\r\n'],
  ['blanks around target and version', 'GET   /m HTTP/1.1 \r\n\r\n', 'GET /m HTTP/1.1\r\n\r\n'],
  ['headers are left alone', 'GET /m HTTP/1.1\nX: \xe4 # b\n\n', 'GET /m HTTP/1.1\r\nX: \xe4 # b\r\n\r\n'],
]

for (const [why, sent, becomes] of mended) {
  test(`mends: ${why}`, () => {
    assert.equal(headEnd(bytes(sent)), sent.length)
    assert.equal(mendHead(bytes(sent)).toString('latin1'), becomes)
  })
}

const target = fc.stringMatching(/^\/[!$-~]{0,40}$/)
const header = fc.tuple(fc.stringMatching(/^[A-Za-z-]{1,12}$/), fc.stringMatching(/^[ -~\xa0-\xff]{0,30}$/))
const wellFormedHead = fc
  .tuple(fc.constantFrom('GET', 'POST', 'HEAD'), target, fc.constantFrom('1.0', '1.1'), fc.array(header))
  .map(([method, path, version, headers]) => {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
    return bytes(`${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n`)
  })

test('a well-formed head passes through: the very same bytes', () => {
  fc.assert(fc.property(wellFormedHead, head => assert.equal(mendHead(head), head)))
})

test('whatever bytes stand in a target come back by percent-decoding, and mending twice changes nothing', () => {
  const [lineFeed, percent] = [0x0a, 0x25]
  const anyTarget = fc
    .uint8Array({ maxLength: 60 })
    .map(raw => raw.filter(b => b !== lineFeed && b !== percent))
  fc.assert(
    fc.property(anyTarget, raw => {
      const text = Buffer.from(raw).toString('latin1')
      const once = mendHead(bytes(`GET /m?song=${text}. HTTP/1.1\n\n`))
      const sent = /^GET \/m\?song=(.*)\. HTTP\/1\.1\r\n\r\n$/.exec(once.toString('latin1'))?.[1]
      const decoded = sent?.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      assert.equal(decoded, text)
      assert.equal(mendHead(once), once)
    }),
  )
})

test('the end of a head is found wherever its bytes are cut', () => {
  for (const head of [
    'GET / HTTP/1.1\r\nA: b\r\n\r\n',
    'GET / HTTP/1.1\nA: b\n\n',
    'GET /\r\n\n',
    'GET /\n\r\n',
  ]) {
    const all = bytes(`${head}body\r\n\r\n`)
    for (let cut = 0; cut <= all.length; cut++) {
      const first = headEnd(all.subarray(0, cut))
      const end = first >= 0 ? first : headEnd(all, cut)
      assert.equal(end, head.length, `${JSON.stringify(head)} cut at ${cut}`)
    }
  }
})

test('empty lines before the request are passed over', () => {
  assert.equal(leadingLineEnds(bytes('\r\n\n\rGET /')), 4)
  assert.equal(leadingLineEnds(bytes('GET /\r\n')), 0)
  assert.equal(leadingLineEnds(bytes('')), 0)
})
