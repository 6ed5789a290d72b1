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
  if (!existsSync(keyring)) throw new Error('this is no Debian')
  await mkdir(join(work, 'lists', 'partial'), { recursive: true })
  await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true })
  let failure: unknown = new Error('apt has no archive configured')
  for (const archive of await archives(work)) {
    try {
      return await fetchPackage(work, archive)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/**
 * The archives in the order of apt's sources, without those of security, updates and backports, which have no sid.
 * Without release info, since that is known only where `apt-get update` was run. One of another project may be
 * left among them; it has no sid, or one that Debian's key did not sign.
 */
async function archives(work: string): Promise<string[]> {
  const args = ['indextargets', '--no-release-info', '--format', '$(RELEASE) $(REPO_URI)']
  const targets = await run('apt-get', args, { cwd: work, timeoutMs: 30_000 })
  const plain = targets.split('\n').map(line => /^[a-z]+ (\S+)$/.exec(line)?.[1])
  return [...new Set(plain.filter(uri => uri !== undefined))]
}

async function fetchPackage(work: string, archive: string): Promise<string> {
  await writeFile(join(work, 'sources.list'), `deb [signed-by=${keyring}] ${archive} sid main\n`)
  const settings = [
    `Dir::Etc::SourceList=${join(work, 'sources.list')}`,
    'Dir::Etc::SourceParts=-',
    `Dir::State::Lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    // Run by root, apt would hand the download to a user who may not enter this folder.
    'APT::Sandbox::User=root',
    // Else a list that could not be had would be a warning, and the package unknown.
    'APT::Update::Error-Mode=any',
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
