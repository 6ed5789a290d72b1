import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { icecastXml, mountXml } from '../helpers/icecast.ts'
import { inRoot } from '../helpers/root.ts'

test('docs/icecast.md shows the configuration that is tested', () => {
  const guide = readFileSync(inRoot('docs/icecast.md'), 'utf8')
  const hook = 'http://127.0.0.1:8100/icecast/demo_main/PUSH_TOKEN'
  const mount = {
    name: '/live.mp3',
    user: 'source',
    password: 'MOUNT_PASSWORD',
    charset: 'UTF-8',
    listenerHooks: { add: hook, remove: hook },
  }
  assert.ok(guide.includes(`\`\`\`xml\n${mountXml(mount)}\n\`\`\``))
  const limits = /```xml\n( *<header-timeout>[\s\S]*?)```/.exec(guide)?.[1]
  const xml = icecastXml({ port: 8000, adminPassword: '', folder: '', mounts: [mount] })
  assert.ok(limits !== undefined && xml.includes(limits))
})
