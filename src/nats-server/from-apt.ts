// Debian's package, by apt with its own signature check, from the mirror that this machine's apt already uses.
// The lists lie in a folder of their own, so that it needs no root and changes nothing on the machine.
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FetchWay } from './fetch.ts'
import { run } from './run.ts'

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

export const fromApt: FetchWay = { name: 'package of Debian sid, by apt', get: fetchWithApt }

async function fetchWithApt(work: string): Promise<string> {
  const mirror = await debianMirror(work)
  const signedBy = existsSync(keyring) ? `[signed-by=${keyring}] ` : ''
  await writeFile(join(work, 'sources.list'), `deb ${signedBy}${mirror} sid main\n`)
  await mkdir(join(work, 'lists', 'partial'), { recursive: true })
  await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true })
  const settings = [
    `Dir::Etc::SourceList=${join(work, 'sources.list')}`,
    'Dir::Etc::SourceParts=-',
    `Dir::State::Lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    // Run by root, apt would hand the download to a user who may not enter this folder.
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    'Acquire::Retries=1',
    'Acquire::http::Timeout=10',
    'Acquire::https::Timeout=10',
  ].flatMap(setting => ['-o', setting])
  await run('apt-get', [...settings, '-q', 'update'], { cwd: work, timeoutMs: 120_000 })
  await run('apt-get', [...settings, '-q', 'download', 'nats-server'], { cwd: work, timeoutMs: 120_000 })
  const packageFile = (await readdir(work)).find(name => name.endsWith('.deb'))
  if (packageFile === undefined) throw new Error('apt-get downloaded no package')
  await run('dpkg', ['-x', packageFile, 'root'], { cwd: work, timeoutMs: 60_000 })
  return join(work, 'root', 'usr', 'sbin', 'nats-server')
}

/** The address of the main Debian archive that apt uses here; its security archive has no sid. */
async function debianMirror(work: string): Promise<string> {
  const format = '$(LABEL)|$(REPO_URI)'
  const targets = await run('apt-get', ['indextargets', '--format', format], { cwd: work, timeoutMs: 30_000 })
  const mirror = targets.split('\n').find(line => line.startsWith('Debian|'))
  if (mirror === undefined) throw new Error('apt knows no Debian archive here (apt-get update may help)')
  return mirror.slice('Debian|'.length)
}
