// A process that stands still, by SIGSTOP.
import { readdirSync, readFileSync } from 'node:fs'

const limitMs = 10_000

/** Stops a process and returns once each of its threads stands: on busy cores some go on for a while after the signal. */
export function standStill(pid: number): void {
  process.kill(pid, 'SIGSTOP')
  const untilMs = performance.now() + limitMs
  while (!allStand(pid))
    if (performance.now() > untilMs) throw new Error(`process ${pid} does not stand still`)
}

function allStand(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every(thread => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    return stat.charAt(stat.lastIndexOf(')') + 2) === 'T'
  })
}
