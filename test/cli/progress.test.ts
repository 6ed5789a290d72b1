import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress, progressLine } from '../../src/cli/progress.ts'

test('the line says how far it is', () => {
  assert.equal(
    progressLine('export', 1_234_567, 2_000_000, 19_000.4),
    'export  [##############..........]  61 %  1,234,567 of 2,000,000  19,000/s',
  )
  assert.equal(progressLine('check', 0, 0, 0), `check  [${'#'.repeat(24)}] 100 %  0 of 0  0/s`)
})

test('it is shown on a terminal only, and goes when it has ended', () => {
  for (const isTTY of [true, false]) {
    const written: string[] = []
    const progress = new Progress({ write: text => written.push(text), isTTY }, 'export')
    progress.end()
    progress.update(1, 2)
    progress.update(2, 2)
    progress.end()
    progress.end()
    assert.equal(written.length, isTTY ? 2 : 0)
    assert.equal(written.at(-1), isTTY ? '\r\u001b[K' : undefined)
  }
})
