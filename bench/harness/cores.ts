// What runs where: the server that is measured has a core of its own.
import { spawnSync } from 'node:child_process'

export const serverCore = '0'
/** The generator, NATS and the bench itself. */
export const generatorCore = '1'
export const bothCores = '0,1'

/** Moves a running process, all its threads. */
export function pin(pid: number, core: string): void {
  const { status, stderr } = spawnSync('taskset', ['-acp', core, String(pid)], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`a process cannot be pinned to core ${core}: ${stderr}`)
}
