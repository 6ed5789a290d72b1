import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { type FetchWay, fetchNatsServer } from '../../src/nats-server/fetch.ts'
import { findNatsServer, packageRoot } from '../../src/nats-server/find.ts'
import { isNewEnough } from '../../src/nats-server/version.ts'
import { StartError } from '../../src/observe/service.ts'

const binary = await findNatsServer({ say: line => console.error(line) })
const root = mkdtempSync(join(tmpdir(), 'nownext-find-'))
after(() => rmSync(root, { recursive: true, force: true }))
let folders = 0

/** A folder with a program that calls itself nats-server of this version. */
function folderWith(version: string | undefined): string {
  const folder = join(root, `folder${++folders}`)
  mkdirSync(folder)
  const script = version === undefined ? 'exit 1' : `echo 'nats-server: v${version}'`
  writeFileSync(join(folder, 'nats-server'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return folder
}

const copy: FetchWay = {
  name: 'a copy',
  get: async work => {
    copyFileSync(binary, join(work, 'it'))
    return join(work, 'it')
  },
}
const broken: FetchWay = { name: 'broken', get: () => Promise.reject(new Error('the line is dead')) }

test('versions', () => {
  for (const version of ['2.12.0', '2.12.0-RC.1', '2.15.1', '3.0.0']) assert.ok(isNewEnough(version), version)
  for (const version of ['2.11.9', '2.2.0', '1.99.0']) assert.ok(!isNewEnough(version), version)
})

test('the first on PATH that is new enough; an older or broken one is skipped with a line', async () => {
  const [old, none, good, better] = ['2.11.9', undefined, '2.12.0', '2.15.0'].map(folderWith)
  const lines: string[] = []
  const path = [old, join(root, 'missing'), none, good, better].join(delimiter)
  const found = await findNatsServer({ path, folder: join(root, 'no'), say: line => lines.push(line) })
  assert.equal(found, join(good ?? '', 'nats-server'))
  assert.deepEqual(lines, [
    `skipped: ${join(old ?? '', 'nats-server')} is version 2.11.9, too old: 2.12 or newer is needed`,
    `skipped: ${join(none ?? '', 'nats-server')} cannot be run`,
  ])
})

test('the fetched one when PATH has none or an older one, wherever the program is started from', async () => {
  const fetched = folderWith('2.14.3')
  assert.equal(await findNatsServer({ path: '', folder: fetched }), join(fetched, 'nats-server'))
  const path = folderWith('2.10.0')
  assert.equal(await findNatsServer({ path, folder: fetched }), join(fetched, 'nats-server'))
  assert.ok(existsSync(join(packageRoot, 'package.json')))
})

test('an older one is refused with a clear message where none can be fetched', async () => {
  const path = folderWith('2.11.9')
  const noFolder = join(path, 'nats-server', 'below')
  await assert.rejects(findNatsServer({ path, folder: noFolder }), error => {
    assert.ok(error instanceof StartError)
    assert.match(error.message, /nats-server is version 2\.11\.9, too old: 2\.12 or newer is needed\. /)
    assert.match(error.message, /Install nats-server 2\.12 or newer on PATH, or set NOWNEXT_NATS_URL/)
    assert.ok(!error.message.includes('\n'))
    return true
  })
})

test('fetching tells what it does, goes on where a way is barred, and replaces an old one', async () => {
  const folder = folderWith('2.9.0')
  const lines: string[] = []
  const way: FetchWay = { name: 'old', get: copy.get }
  await fetchNatsServer({ folder, say: line => lines.push(line), ways: [broken, way] })
  assert.deepEqual(lines.slice(0, -1), [
    `fetching nats-server into ${folder}: broken`,
    'that does not work here: the line is dead',
    `fetching nats-server into ${folder}: old`,
  ])
  assert.match(lines.at(-1) ?? '', /^nats-server 2\.\d+\.\d+\S* is at /)
  assert.deepEqual(readdirSync(folder), ['nats-server'])
})

test('any number may fetch at once', async () => {
  const folder = join(root, 'at-once')
  const say = () => undefined
  await Promise.all([1, 2, 3].map(() => fetchNatsServer({ folder, say, ways: [copy] })))
  assert.deepEqual(readdirSync(folder), ['nats-server'])
  assert.equal(await findNatsServer({ path: '', folder }), join(folder, 'nats-server'))
})

test('what is fetched must be a nats-server, and new enough', async () => {
  const folder = join(root, 'refused')
  const from = (version: string | undefined): FetchWay => ({
    name: `version ${version}`,
    get: async () => join(folderWith(version), 'nats-server'),
  })
  const ways = [from(undefined), from('2.11.0')]
  await assert.rejects(fetchNatsServer({ folder, say: () => undefined, ways }), error => {
    assert.ok(error instanceof StartError)
    assert.match(
      error.message,
      /the fetched binary cannot be run.*it gives version 2\.11\.0, 2\.12 is needed/,
    )
    return true
  })
  assert.deepEqual(readdirSync(folder), [])
})
