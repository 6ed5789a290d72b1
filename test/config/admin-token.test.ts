import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { adminTokenFile, loadAdminToken, readAdminToken } from '../../src/config/admin-token.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-token-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('a configured token is used and not written down', () => {
  const data = join(folder, 'configured')
  assert.equal(loadAdminToken({ data, adminToken: 'a-configured-token' }), 'a-configured-token')
  assert.equal(readAdminToken(data), undefined)
})

test('a generated token is for the owner only, and stays', () => {
  const data = join(folder, 'generated')
  const token = loadAdminToken({ data, adminToken: undefined })
  assert.match(token, /^[\w-]{32}$/)
  assert.equal(statSync(adminTokenFile(data)).mode & 0o777, 0o600)
  assert.equal(loadAdminToken({ data, adminToken: undefined }), token)
  assert.equal(readAdminToken(data), token)
})

test('a token file that holds none is refused, and so is a folder that cannot be made', () => {
  const data = join(folder, 'short')
  mkdirSync(data)
  writeFileSync(adminTokenFile(data), 'short\n')
  assert.throws(() => loadAdminToken({ data, adminToken: undefined }), {
    name: 'StartError',
    message: /holds no admin token of at least 16 characters/,
  })
  const inFile = join(adminTokenFile(data), 'below-a-file')
  assert.throws(() => loadAdminToken({ data: inFile, adminToken: undefined }), { name: 'StartError' })
})
