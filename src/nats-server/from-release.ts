// The release archive of the nats-server project, pinned and verified.
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FetchWay } from './fetch.ts'
import { run } from './run.ts'

export const releaseVersion = '2.14.3'

const sha256ByPlatform: Readonly<Record<string, string>> = {
  'linux-amd64': 'f3d0c820c749f81d717310fb00d4903919e70e3e66b268bd352a088b9788eb93',
  'linux-arm64': '1759b6a0ddebade9471b7c02891dfaa8c73b526c6f3ce391d4e21ec3eceffab8',
  'darwin-amd64': 'effa518fe623433d7c3321991db419bb1e00aa9b19ae761b559b580434afc3ab',
  'darwin-arm64': 'e086395457a7a93a440433a446c9f161f917d35c0374640555123e8d8d4b7fe9',
}

// Where the network does not allow it, this way must cost nothing: the next one may be a second away.
const answerTimeoutMs = 4000
const downloadTimeoutMs = 120_000
const maxArchiveBytes = 64 * 1024 * 1024

export const fromRelease: FetchWay = {
  name: `release ${releaseVersion} of the nats-server project`,
  get: work => fetchRelease(work, 'https://github.com/nats-io/nats-server/releases/download'),
}

/** Exported for tests: `base` may be another server. */
export async function fetchRelease(
  work: string,
  base: string,
  sha256s: Readonly<Record<string, string>> = sha256ByPlatform,
): Promise<string> {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const sha256 = sha256s[platform]
  if (sha256 === undefined) throw new Error(`no archive is pinned for ${platform}`)
  const name = `nats-server-v${releaseVersion}-${platform}`
  const archive = await download(`${base}/v${releaseVersion}/${name}.tar.gz`)
  const found = createHash('sha256').update(archive).digest('hex')
  if (found !== sha256) throw new Error(`the archive has SHA-256 ${found}, not the pinned ${sha256}`)
  await writeFile(join(work, 'archive.tar.gz'), archive)
  await run('tar', ['-xzf', 'archive.tar.gz'], { cwd: work, timeoutMs: 60_000 })
  return join(work, name, 'nats-server')
}

async function download(url: string): Promise<Buffer> {
  const abort = new AbortController()
  let timer = setTimeout(() => abort.abort(new Error('no answer in time')), answerTimeoutMs)
  try {
    const response = await fetch(url, { signal: abort.signal })
    if (!response.ok || response.body === null) throw new Error(`the server answers ${response.status}`)
    clearTimeout(timer)
    timer = setTimeout(() => abort.abort(new Error('the download takes too long')), downloadTimeoutMs)
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > maxArchiveBytes) throw new Error('the archive is too large')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch (error) {
    // fetch says only "fetch failed"; what failed is its cause.
    const cause = (error as Error).cause
    throw cause instanceof Error ? new Error(cause.message || (cause as NodeJS.ErrnoException).code) : error
  } finally {
    clearTimeout(timer)
  }
}
