// What is said where a service cannot be reached, against listeners that really answer so.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttp, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { follow } from '../../src/cli/follow.ts'
import { reasonOf, unreachable } from '../../src/cli/reach.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-reach-'))
const servers: Server[] = []
after(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

async function portOf(server: Server): Promise<number> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

const reasonAt = (url: string) =>
  fetch(url).then(
    () => assert.fail('it answers'),
    error => reasonOf(error),
  )
const socketReasonAt = async (url: string) =>
  (await follow(new URL(url), { opened: () => undefined, message: () => undefined })).reason

test('TLS spoken to plain HTTP: is it http?', async () => {
  const port = await portOf(createHttp())
  assert.match(await reasonAt(`https://127.0.0.1:${port}`), /\(is it http\?\)$/)
  assert.match(await socketReasonAt(`wss://127.0.0.1:${port}`), /\(is it http\?\)$/)
})

test('plain HTTP spoken to TLS: is it https? A certificate that is not trusted: how it would be', async t => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const argv = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const made = spawnSync('openssl', [...argv, '-subj', '/CN=localhost', '-keyout', key, '-out', cert])
  if (made.status !== 0) return t.skip('there is no openssl to make a certificate with')
  const port = await portOf(createHttps({ cert: readFileSync(cert), key: readFileSync(key) }))
  assert.match(await reasonAt(`http://127.0.0.1:${port}`), /\(is it https\?\)$/)
  assert.match(await socketReasonAt(`ws://127.0.0.1:${port}`), /\(is it https\?\)$/)
  assert.match(await reasonAt(`https://127.0.0.1:${port}`), /NODE_EXTRA_CA_CERTS/)
  assert.match(await socketReasonAt(`wss://127.0.0.1:${port}`), /NODE_EXTRA_CA_CERTS/)
})

test('the option to set is named, and nothing but the origin of the address', () => {
  const error = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  assert.equal(
    unreachable('the push service', 'http://h:1/metapush/c/a-token', error).message,
    'the push service at http://h:1 cannot be reached: nothing listens there; --base-url or NOWNEXT_BASE_URL sets the address',
  )
})
