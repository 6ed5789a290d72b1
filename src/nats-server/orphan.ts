// A nats-server whose nownext was killed runs on. The next nownext on the folder ends it before it starts its own.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { commandLineOf, identityOf, isAlive, type ProcessIdentity, parseIdentity } from './identity.ts'

const pollMs = 20

/** Writes down which process is ours. */
export function recordServer(pidFile: string, pid: number): void {
  const identity = identityOf(pid)
  if (identity === undefined) return
  writeFileSync(`${pidFile}.new`, JSON.stringify(identity))
  renameSync(`${pidFile}.new`, pidFile)
}

/**
 * Ends the recorded process if it still lives, is the one recorded, and has `argument` in its command line: first
 * asked, after the grace killed. Resolves to its pid when it is gone, to undefined where there was none.
 */
export async function endOrphan(
  pidFile: string,
  argument: string,
  graceMs: number,
): Promise<number | undefined> {
  const orphan = recordedServer(pidFile)
  if (orphan === undefined || !isAlive(orphan)) return undefined
  if (!commandLineOf(orphan.pid).includes(argument)) return undefined
  signal(orphan.pid, 'SIGTERM')
  const killAt = performance.now() + graceMs
  while (isAlive(orphan)) {
    if (performance.now() > killAt) signal(orphan.pid, 'SIGKILL')
    await wait(pollMs)
  }
  return orphan.pid
}

function recordedServer(pidFile: string): ProcessIdentity | undefined {
  try {
    return parseIdentity(readFileSync(pidFile, 'utf8'))
  } catch {
    return undefined
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // It may have ended just now.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
