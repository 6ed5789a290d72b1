import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { lockFolder } from '../../src/nats-server/lock.ts'
import { inRoot } from '../helpers/root.ts'

const root = mkdtempSync(join(tmpdir(), 'nownext-lock-'))
after(() => rmSync(root, { recursive: true, force: true }))

test('held, refused, released, taken again', () => {
  const folder = join(root, 'one')
  for (let round = 0; round < 5; round++) {
    const lock = lockFolder(folder)
    assert.throws(() => lockFolder(folder), {
      name: 'StartError',
      message: /Another nownext \(process \d+\)/,
    })
    lock.release()
  }
  assert.ok(readdirSync(folder).length <= 3, 'old generations are removed')
})

test('a lock of a process that is gone, or of another with its pid, is taken over', () => {
  const folder = join(root, 'two')
  lockFolder(folder).release()
  writeFileSync(join(folder, '7'), JSON.stringify({ pid: process.pid, startedAt: 'long ago' }))
  const lock = lockFolder(folder)
  assert.ok(readdirSync(folder).includes('8'))
  lock.release()
})

test('of many that race, one at a time is inside', { timeout: 60_000 }, async () => {
  const folder = join(root, 'three')
  const program = inRoot('test/nats-server/locking.ts')
  const racers = [1, 2, 3, 4].map(() =>
    spawn(process.execPath, ['--import', 'tsx', program, folder, '100'], { stdio: 'inherit' }),
  )
  const ends = await Promise.all(racers.map(racer => once(racer, 'exit')))
  assert.deepEqual(
    ends.map(([code]) => code),
    [0, 0, 0, 0],
  )
})
