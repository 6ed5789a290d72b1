// Which process a pid means: pids are given again, so a pid is kept together with its start time.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

export type ProcessIdentity = { pid: number; startedAt: string }

const hasProc = existsSync('/proc/self/stat')

/** The living process of this pid; undefined where there is none (one that has ended but was not reaped is none). */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const startedAt = hasProc ? startTimeFromProc(pid) : startTimeFromPs(pid)
  return startedAt === undefined ? undefined : { pid, startedAt }
}

/** Whether that very process still lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.startedAt === identity.startedAt
}

/** The arguments of a process, as far as the system tells them; empty where there is none. */
export function commandLineOf(pid: number): string {
  if (!hasProc) return ps(pid, 'args=') ?? ''
  return read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') ?? ''
}

/** Reads what isAlive needs out of a file's text; undefined for anything else. */
export function parseIdentity(text: string | undefined): ProcessIdentity | undefined {
  try {
    const { pid, startedAt } = JSON.parse(text ?? '') as Partial<ProcessIdentity>
    return Number.isInteger(pid) && typeof startedAt === 'string'
      ? { pid: pid as number, startedAt }
      : undefined
  } catch {
    return undefined
  }
}

function startTimeFromProc(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`)
  // The name, in brackets, may hold blanks and brackets; the state follows it, the start time is the 20th field from there.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields?.[0], fields?.[19]]
  if (startTime === undefined || state === 'Z' || state === 'X') return undefined
  // Counted in ticks since the boot, so it says nothing without that.
  return `${read('/proc/sys/kernel/random/boot_id')?.trim()}:${startTime}`
}

function startTimeFromPs(pid: number): string | undefined {
  return ps(pid, 'stat=')?.startsWith('Z') ? undefined : ps(pid, 'lstart=')
}

function ps(pid: number, column: string): string | undefined {
  try {
    const args = ['-ww', '-o', column, '-p', String(pid)]
    return execFileSync('ps', args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } }).trim()
  } catch {
    return undefined
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
