// `npm run test:e2e`: what was answered 200 survives any death: node alone, with its nats-server orphaned, or everything at once.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readNatsJson } from '../../src/nats-server/address.ts'
import { type PushTarget, pushNumbered, readNumbers } from '../helpers/numbered.ts'
import { startService, type TestService } from '../helpers/service.ts'

const channelCount = 20
const pushCount = 400

for (const [what, killAll] of [
  ['node alone', false],
  ['node and its nats-server', true],
] as const) {
  test(`kill -9 of ${what} in the middle of ${pushCount} pushes`, { timeout: 120_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'nownext-crash-'))
    const start = () => startService({ dataDir, env: { NOWNEXT_PUSH_RATE: '1000' } })
    let service = await start()
    try {
      const targets = await makeChannels(service)
      const acknowledged = new Set<number>()
      let restarting: Promise<void> | undefined
      const crash = async () => {
        const natsPid = Number.parseInt(
          readFileSync(join(dataDir, 'nats.pid'), 'utf8').match(/\d+/)?.[0] ?? '0',
          10,
        )
        await service.kill()
        if (killAll) process.kill(natsPid, 'SIGKILL')
        service = await start()
      }
      await pushNumbered(
        () => service.baseUrl,
        targets,
        { from: 0, to: pushCount },
        ({ number, status }) => {
          if (status === 200) acknowledged.add(number)
          if (acknowledged.size === pushCount / 2) restarting ??= crash()
        },
      )
      await restarting
      assert.equal(acknowledged.size, pushCount)
      const found = await readNumbers(readNatsJson(dataDir) ?? assert.fail('no nats.json'))
      assert.deepEqual(
        [...found].filter(([, times]) => times !== 1),
        [],
        'stored more than once',
      )
      assert.equal(found.size, pushCount)
      await assertLastShown(service, targets)
    } finally {
      await service.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
}

async function makeChannels(service: TestService): Promise<PushTarget[]> {
  await service.admin('PUT', '/stations/crash', { name: 'Crash' })
  return await Promise.all(
    Array.from({ length: channelCount }, async (_, index) => {
      const channelkey = `crash_${index}`
      const { body } = await service.admin('PUT', `/channels/${channelkey}`, {
        station: 'crash',
        name: channelkey,
      })
      return { channelkey, token: body.token }
    }),
  )
}

/** Each channel shows its last push; waits for the projector to have folded it. */
async function assertLastShown(service: TestService, targets: PushTarget[]): Promise<void> {
  for (const [index, { channelkey }] of targets.entries()) {
    const last = `Song ${pushCount - channelCount + index}`
    const endMs = Date.now() + 5_000
    let song = ''
    while (song !== last && Date.now() < endMs) {
      const answer = await fetch(`${service.apiUrl}/metadata/channel/${channelkey}.json`)
      song = answer.status === 200 ? ((await answer.json()) as { song: string }).song : ''
    }
    assert.equal(song, last, channelkey)
  }
}
