// Fetches a nats-server without root: the project's release archive, else Debian's package, else Go.
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../observe/service.ts'
import { fromApt } from './from-apt.ts'
import { fromGo } from './from-go.ts'
import { fromRelease } from './from-release.ts'
import { isNewEnough, natsServerVersion, oldestVersion } from './version.ts'

/** Makes a nats-server somewhere in the empty folder `work` and resolves to its path; rejects with the reason why not. */
export type FetchWay = { name: string; get: (work: string) => Promise<string> }

export const fetchWays: readonly FetchWay[] = [fromRelease, fromApt, fromGo]

export type FetchOptions = {
  /** The binary becomes `nats-server` in here. */
  folder: string
  say: (line: string) => void
  ways?: readonly FetchWay[]
}

/**
 * Fetches into a folder of its own and renames, so that any number of processes may do so at once. Resolves to the
 * binary's path; throws a StartError that names the ways to get one by hand.
 */
export async function fetchNatsServer({ folder, say, ways = fetchWays }: FetchOptions): Promise<string> {
  const work = await makeWorkFolder(folder)
  const reasons: string[] = []
  try {
    for (const [index, way] of ways.entries()) {
      say(`fetching nats-server into ${folder}: ${way.name}`)
      try {
        const inside = join(work, String(index))
        await mkdir(inside)
        return await install(await way.get(inside), folder, say)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        reasons.push(`${way.name} (${reason})`)
        say(`that does not work here: ${reason}`)
      }
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  throw new StartError(
    `No nats-server could be fetched; tried ${reasons.join(', ')}. Install nats-server ${oldestVersion} or newer ` +
      `on PATH, put the binary at ${join(folder, 'nats-server')}, or set NOWNEXT_NATS_URL to a running one.`,
  )
}

async function makeWorkFolder(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true })
    return await mkdtemp(join(folder, 'fetch-'))
  } catch (error) {
    throw new StartError(
      `No nats-server found, and none can be fetched into ${folder}: ${(error as Error).message}. Install ` +
        `nats-server ${oldestVersion} or newer on PATH, or set NOWNEXT_NATS_URL to a running one.`,
    )
  }
}

async function install(fetched: string, folder: string, say: (line: string) => void): Promise<string> {
  await chmod(fetched, 0o755)
  const version = await natsServerVersion(fetched)
  if (version === undefined) throw new Error('the fetched binary cannot be run')
  if (!isNewEnough(version)) throw new Error(`it gives version ${version}, ${oldestVersion} is needed`)
  const binary = join(folder, 'nats-server')
  await rename(fetched, binary)
  say(`nats-server ${version} is at ${binary}`)
  return binary
}
