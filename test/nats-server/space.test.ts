import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { jetstream, jetstreamManager, StoreCompression } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { fileStoreLimit, freeBytesAt, heldBytes, reservedBytes } from '../../src/nats-server/space.ts'
import { startNats } from '../helpers/nats.ts'

const MiB = 1024 * 1024
const GiB = 1024 * MiB

test('a twentieth of the free space stays free, at least 256 MiB', () => {
  for (const [freeBytes, reserved] of [
    [0, 256 * MiB],
    [5 * GiB, 256 * MiB],
    [5 * GiB + 20, 256 * MiB + 1],
    [100 * GiB, 5 * GiB],
  ] as const) {
    assert.equal(reservedBytes(freeBytes), reserved)
  }
})

test('the limit is what is held and what may still come, and never none', () => {
  for (const [held, freeBytes, limit] of [
    [0, 0, 1],
    [0, 256 * MiB, 1],
    [0, 256 * MiB + 2, 2],
    [GiB, 0, GiB],
    [GiB, 256 * MiB, GiB],
    [GiB, 256 * MiB + 1, GiB + 1],
    [GiB, 100 * GiB, 96 * GiB],
  ] as const) {
    assert.equal(fileStoreLimit(held, freeBytes), limit)
  }
})

test('what is held is counted as JetStream counts it, compressed or not', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nownext-space-'))
  try {
    assert.equal(heldBytes(dir), 0)
    assert.equal(heldBytes(join(dir, 'none')), 0)
    assert.ok(freeBytesAt(dir) > 0)
    const nats = await startNats({ dir })
    const nc = await connect({ servers: nats.url })
    const jsm = await jetstreamManager(nc)
    await jsm.streams.add({ name: 'PLAIN', subjects: ['plain'] })
    await jsm.streams.add({ name: 'PACKED', subjects: ['packed'], compression: StoreCompression.S2 })
    // More than one block (8 MiB), since the last is never compressed.
    const payload = Buffer.alloc(500_000, 'now and next ')
    for (let n = 0; n < 20; n++) await jetstream(nc).publish(n % 10 === 0 ? 'plain' : 'packed', payload)
    const counted = (await jsm.getAccountInfo()).storage
    await nc.close()
    await nats.stop()
    assert.equal(heldBytes(dir), counted)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
