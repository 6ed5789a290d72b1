import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { commandLineOf, identityOf, isAlive, parseIdentity } from '../../src/nats-server/identity.ts'
import { endOrphan, recordServer } from '../../src/nats-server/orphan.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-orphan-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const pidFile = join(folder, 'pid')

/** A process with an argument, once it is set up; it ends with its standard input. */
async function start(script: string) {
  const child = spawn('sh', ['-c', `${script}; echo ready; read -r _`, 'sh', '/some/store'])
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0
  return { child, pid, exit: once(child, 'exit') as Promise<[number | null, string | null]> }
}

test('a process is known by pid and start time, and not once it has ended', async () => {
  const { child, pid, exit } = await start('true')
  const identity = identityOf(pid)
  assert.ok(identity !== undefined && isAlive(identity))
  assert.ok(!isAlive({ ...identity, startedAt: 'another time' }))
  assert.match(commandLineOf(pid), /\/some\/store/)
  child.kill('SIGKILL')
  await exit
  assert.ok(!isAlive(identity))
  assert.equal(identityOf(pid), undefined)
})

test('an identity is read only from what holds one', () => {
  for (const text of [undefined, '', 'x', '{}', '{"pid":"1","startedAt":"a"}', '{"pid":1}', 'null']) {
    assert.equal(parseIdentity(text), undefined, text)
  }
  assert.deepEqual(parseIdentity('{"pid":1,"startedAt":"a"}'), { pid: 1, startedAt: 'a' })
})

test('an orphan is asked to end', async () => {
  const { pid, exit } = await start('true')
  recordServer(pidFile, pid)
  assert.equal(await endOrphan(pidFile, '/some/store', 10_000), pid)
  assert.deepEqual(await exit, [null, 'SIGTERM'])
  assert.equal(await endOrphan(pidFile, '/some/store', 10_000), undefined)
})

test('one that does not listen is killed after the grace', async () => {
  const { pid, exit } = await start("trap '' TERM")
  recordServer(pidFile, pid)
  assert.equal(await endOrphan(pidFile, '/some/store', 50), pid)
  assert.deepEqual(await exit, [null, 'SIGKILL'])
})

test('a process of another folder is left alone, as is everything where nothing readable is recorded', async () => {
  const { child, pid, exit } = await start('true')
  recordServer(pidFile, pid)
  assert.equal(await endOrphan(pidFile, '/another/store', 0), undefined)
  writeFileSync(pidFile, 'half a rec')
  assert.equal(await endOrphan(pidFile, '/some/store', 0), undefined)
  rmSync(pidFile)
  assert.equal(await endOrphan(pidFile, '/some/store', 0), undefined)
  child.stdin.end('\n')
  assert.deepEqual(await exit, [0, null])
})
