import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fetchNatsServer } from '../../src/nats-server/fetch.ts'
import { fromApt } from '../../src/nats-server/from-apt.ts'
import { fetchRelease, fromRelease, releaseVersion } from '../../src/nats-server/from-release.ts'
import { natsServerVersion } from '../../src/nats-server/version.ts'

const root = mkdtempSync(join(tmpdir(), 'nownext-fetch-'))
after(() => rmSync(root, { recursive: true, force: true }))
let folders = 0
function newFolder(): string {
  const folder = join(root, String(++folders))
  mkdirSync(folder)
  return folder
}

const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
const archiveName = `nats-server-v${releaseVersion}-${platform}`

/** A release archive as the project packs it, with a script for the binary. */
function packRelease(): Buffer {
  const folder = newFolder()
  mkdirSync(join(folder, archiveName))
  writeFileSync(join(folder, archiveName, 'nats-server'), '#!/bin/sh\necho nats-server: v2.14.3\n', {
    mode: 0o755,
  })
  execFileSync('tar', ['-czf', 'it.tar.gz', archiveName], { cwd: folder })
  return readFileSync(join(folder, 'it.tar.gz'))
}

async function serve(listener: RequestListener): Promise<{ base: string; close: () => void }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

test('the release archive is taken only with the pinned SHA-256', async () => {
  const archive = packRelease()
  const sha256 = createHash('sha256').update(archive).digest('hex')
  const { base, close } = await serve((request, response) => {
    assert.equal(request.url, `/v${releaseVersion}/${archiveName}.tar.gz`)
    response.end(archive)
  })
  const binary = await fetchRelease(newFolder(), base, { [platform]: sha256 })
  assert.equal(await natsServerVersion(binary), '2.14.3')
  await assert.rejects(
    fetchRelease(newFolder(), base),
    /the archive has SHA-256 [0-9a-f]{64}, not the pinned/,
  )
  await assert.rejects(fetchRelease(newFolder(), base, {}), /no archive is pinned for/)
  close()
})

test('a release that cannot be had is given up at once', { timeout: 15_000 }, async () => {
  const missing = await serve((_, response) => response.writeHead(404).end())
  await assert.rejects(fetchRelease(newFolder(), missing.base), /the server answers 404/)
  missing.close()
  await assert.rejects(fetchRelease(newFolder(), missing.base), /ECONNREFUSED/)
  await assert.rejects(fetchRelease(newFolder(), 'http://host.invalid'), /ENOTFOUND|EAI_AGAIN/)
  const silent = await serve(() => undefined)
  const startedAt = performance.now()
  await assert.rejects(fetchRelease(newFolder(), silent.base), /no answer in time/)
  assert.ok(performance.now() - startedAt < 6000)
  silent.close()
})

// What it looks like where there is no apt, or no way to an archive.
const barred =
  /there is no|this is no Debian|no archive configured|Failed to fetch|index files failed|took longer/

test('Debian sid has one, fetched by apt without touching the machine', { timeout: 180_000 }, async t => {
  const folder = newFolder()
  const lines: string[] = []
  try {
    const binary = await fetchNatsServer({ folder, say: line => lines.push(line), ways: [fromApt] })
    assert.equal(binary, join(folder, 'nats-server'))
    assert.match(lines.at(-1) ?? '', /^nats-server 2\.\d+\.\d+/)
    assert.deepEqual(readdirSync(folder), ['nats-server'])
  } catch (error) {
    if (!barred.test((error as Error).message)) throw error
    t.skip(`not possible here: ${(error as Error).message}`)
  }
})

test('the real release is fetched where the network allows it', { timeout: 180_000 }, async t => {
  try {
    const say = () => undefined
    const binary = await fetchNatsServer({ folder: newFolder(), say, ways: [fromRelease] })
    assert.equal(await natsServerVersion(binary), releaseVersion)
  } catch (error) {
    if (!/ENOTFOUND|EAI_AGAIN|ECONN|in time|takes too long/.test((error as Error).message)) throw error
    t.skip(`not possible here: ${(error as Error).message}`)
  }
})
