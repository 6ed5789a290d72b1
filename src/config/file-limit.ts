// How many connections a process may have open, by what the system allows it in files.
import { spawnSync } from 'node:child_process'

/** Where the system sets no limit, or does not tell. */
const unlimitedFiles = 1_000_000

/** Sockets of an edge: nine tenths of the limit. The rest is for polls, the log and the other listeners. */
export function defaultMaxSockets(): number {
  return Math.floor(fileLimit() * 0.9)
}

/** Connections of an intake: half of what an edge in the same process leaves. */
export function defaultMaxConnections(): number {
  return Math.min(10_000, Math.max(64, Math.floor(fileLimit() / 20)))
}

function fileLimit(): number {
  // A child has this process's limits, and node tells of its own only in a report that asks name servers.
  const limit = Number(spawnSync('sh', ['-c', 'ulimit -n']).stdout?.toString())
  return limit > 0 ? limit : unlimitedFiles
}
