// Which nats-server a binary is, and whether it is new enough.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The oldest nats-server that has all we use: pinned consumers came with 2.11, the rest of what we need with 2.12. */
export const oldestVersion = '2.12'

/** The version of a binary, for example `2.15.1`; undefined where it cannot be run or is not a nats-server. */
export async function natsServerVersion(binary: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: 10_000 })
    return /^nats-server: v?(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1]
  } catch {
    return undefined
  }
}

/** Whether a version (`major.minor.patch`, a suffix is ignored) is at least `oldestVersion`. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestVersion.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}
