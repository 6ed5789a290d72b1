// How many sockets this process may have open, as the system says.
import { spawnSync } from 'node:child_process'

/** Where the system sets no limit, or does not tell. */
const unlimitedSockets = 1_000_000

/** Nine tenths of the limit on open files: the rest is for polls, the log and listeners. */
export function defaultMaxSockets(): number {
  // A child has this process's limits, and node tells of its own only in a report that asks name servers.
  const limit = Number(spawnSync('sh', ['-c', 'ulimit -n']).stdout?.toString())
  return limit > 0 ? Math.floor(limit * 0.9) : unlimitedSockets
}
