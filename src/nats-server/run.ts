// Runs a tool of the system to its end.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export type RunOptions = { cwd: string; env?: NodeJS.ProcessEnv; timeoutMs: number }

/** Resolves to what the tool printed; rejects with one line: that it is missing, or a line of its complaint. */
export async function run(tool: string, args: readonly string[], options: RunOptions): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(tool, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env, LC_ALL: 'C' },
      timeout: options.timeoutMs,
    })
    return stdout
  } catch (error) {
    const { code, killed, stderr } = error as { code?: unknown; killed?: boolean; stderr?: string }
    if (code === 'ENOENT') throw new Error(`there is no ${tool}`)
    if (killed === true) throw new Error(`${tool} took longer than ${options.timeoutMs / 1000} s`)
    const lines = stderr?.trim().split('\n') ?? []
    throw new Error(
      `${tool}: ${lines.find(line => line.startsWith('E:')) ?? lines.at(-1) ?? `ended with ${code}`}`,
    )
  }
}
