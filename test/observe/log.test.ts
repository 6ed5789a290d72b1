import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { createLog } from '../../src/observe/log.ts'

function written(isTTY: boolean): { lines: string[]; out: Writable & { isTTY: boolean } } {
  const lines: string[] = []
  const out = new Writable({
    write(chunk, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
  return { lines, out: Object.assign(out, { isTTY }) }
}

test('to anything but a terminal: one JSON object a line', () => {
  const { lines, out } = written(false)
  createLog('info', out).info({ port: 8100 }, 'listening')
  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  assert.ok(!Number.isNaN(Date.parse(time)))
  assert.deepEqual(rest, { level: 'info', port: 8100, msg: 'listening' })
})

test('to a terminal: a short line, and a stack below it', () => {
  const { lines, out } = written(true)
  const log = createLog('debug', out)
  log.warn({ port: 8100, why: 'two words' }, 'busy')
  log.error({ err: new Error('broken') }, 'failed')
  log.debug('no fields')
  const plain = lines.map(line => line.replaceAll(/\u001b\[\d*m/g, ''))
  assert.match(plain[0] ?? '', /^\d\d:\d\d:\d\d warn {2}busy port=8100 why="two words"\n$/)
  assert.match(plain[1] ?? '', /^\d\d:\d\d:\d\d error failed\nError: broken\n {4}at /)
  assert.match(plain[2] ?? '', /^\d\d:\d\d:\d\d debug no fields\n$/)
})

test('lines below the level are not written', () => {
  const { lines, out } = written(false)
  createLog('warn', out).info('unheard')
  assert.deepEqual(lines, [])
})
