// A client that goes while its answer is being written: only an edge in a process of its own can meet that.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startService } from '../helpers/service.ts'
import { createWorld } from './world.ts'

const requests = 800
/** Longer than the library writes in one go. */
const longText = 'x'.repeat(50_000)
/** A reset meets the answer at another point each time: up to so many milliseconds after its request. */
const spreadMs = 2

test('connections that are reset within their answer end no process', async t => {
  const world = await createWorld()
  await world.show('a', { song: 'A', extra: longText }, null, ['now'])
  const edge = await startService({ natsUrl: world.nats.url, roles: 'edge' })
  t.after(async () => {
    await edge.stop()
    await world.close()
  })
  const { port } = new URL(edge.apiUrl)
  for (const path of ['/metadata/channel/a.json', '/metadata/station/one.json', '/metadata/sse/channel/a']) {
    for (let n = 0; n < requests; n++) await resetAfter(Number(port), path, ((n % 40) / 40) * spreadMs)
    assert.equal((await fetch(`${edge.apiUrl}/metadata/channel/a.json`)).status, 200, path)
  }
})

/** Waits busily: a timer is not so exact. */
function resetAfter(port: number, path: string, afterMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').on('error', reject)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, () => {
      const untilMs = performance.now() + afterMs
      while (performance.now() < untilMs);
      socket.off('error', reject).on('error', () => undefined)
      socket.resetAndDestroy()
      resolve()
    })
  })
}
