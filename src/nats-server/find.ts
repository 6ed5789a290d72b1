// Finds a nats-server: on PATH, else the one fetched before, else fetches it.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartError } from '../observe/service.ts'
import { fetchNatsServer } from './fetch.ts'
import { isNewEnough, natsServerVersion, oldestVersion } from './version.ts'

/** The folder that holds package.json and nats.conf, wherever the program is started from. */
export const packageRoot = fileURLToPath(new URL('../../', import.meta.url))

export type FindOptions = {
  /** The folders to search, as in PATH; default: PATH of this process. */
  path?: string
  /** Where a fetched nats-server lies; default: `.nats` in the package. */
  folder?: string
  /** Told line by line what is being done, where that is anything worth telling. */
  say?: (line: string) => void
}

/** The path of a nats-server that is new enough. Throws a StartError that names the ways to get one. */
export async function findNatsServer(options: FindOptions = {}): Promise<string> {
  const {
    path = process.env['PATH'] ?? '',
    folder = join(packageRoot, '.nats'),
    say = () => undefined,
  } = options
  const onPath = path.split(delimiter).filter(dir => dir !== '')
  const unfit: string[] = []
  for (const binary of [...onPath, folder].map(dir => join(dir, 'nats-server'))) {
    if (!isExecutable(binary)) continue
    const version = await natsServerVersion(binary)
    if (version !== undefined && isNewEnough(version)) return binary
    unfit.push(
      version === undefined
        ? `${binary} cannot be run`
        : `${binary} is version ${version}, too old: ${oldestVersion} or newer is needed`,
    )
    say(`skipped: ${unfit.at(-1)}`)
  }
  try {
    return await fetchNatsServer({ folder, say })
  } catch (error) {
    if (!(error instanceof StartError) || unfit.length === 0) throw error
    throw new StartError(`${unfit.join('; ')}. ${error.message}`)
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
