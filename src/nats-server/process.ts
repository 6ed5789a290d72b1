// One run of a nats-server: from its spawn to its exit.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

export type LaunchOptions = {
  binary: string
  args: readonly string[]
  env?: NodeJS.ProcessEnv
  /** An existing folder in which the server writes its port once it takes connections. */
  portsFolder: string
  onLine: (line: string) => void
}

export type NatsProcess = {
  /** undefined: it could not even be spawned. */
  readonly pid: number | undefined
  /** Resolves once it takes connections (JetStream's store read again by then) to its port; rejects if it exits before. */
  readonly ready: Promise<number>
  /** Resolves when it is gone, to how: `code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>
  /** Asks it to end, kills it after the grace, resolves when it is gone. */
  stop(graceMs: number): Promise<void>
}

const pollMs = 10
const linesKept = 10

/** Starts a nats-server in a process group of its own: a Ctrl-C must not reach it before its clients are done. */
export function launchNats({ binary, args, env, portsFolder, onLine }: LaunchOptions): NatsProcess {
  const child = spawn(binary, [...args, '--ports_file_dir', portsFolder], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Neither the child nor the pipe keeps a process alive that has nothing else to do.
  child.unref()
  ;(child.stderr as Socket).unref()
  const lastLines: string[] = []
  createInterface({ input: child.stderr }).on('line', line => {
    lastLines.push(line)
    if (lastLines.length > linesKept) lastLines.shift()
    onLine(line)
  })
  let ended: string | undefined
  const exited = new Promise<string>(resolve => {
    child.on('error', error => {
      ended = error.message
      resolve(ended)
    })
    // close comes after exit, when its last line has been read.
    child.on('close', (code, signal) => {
      ended ??= signal === null ? `code ${code}` : `signal ${signal}`
      resolve(ended)
    })
  })
  const portsFile = join(portsFolder, `${basename(binary)}_${child.pid}.ports`)
  const ready = new Promise<number>((resolve, reject) => {
    const timer = setInterval(() => {
      const port = ended === undefined ? readPort(portsFile) : undefined
      if (port === undefined && ended === undefined) return
      clearInterval(timer)
      if (port !== undefined) resolve(port)
      else reject(new Error([`nats-server ended with ${ended}`, ...lastLines].join('\n')))
    }, pollMs)
  })
  // Whoever waits for exited only must not be ended by an unhandled rejection.
  ready.catch(() => undefined)
  return {
    pid: child.pid,
    ready,
    exited,
    async stop(graceMs) {
      if (ended === undefined) {
        child.kill('SIGTERM')
        const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
        await exited
        clearTimeout(timer)
      }
      rmSync(portsFile, { force: true })
    },
  }
}

/** The port in a ports file; undefined while it is missing or half written. */
function readPort(portsFile: string): number | undefined {
  try {
    const { nats } = JSON.parse(readFileSync(portsFile, 'utf8')) as { nats?: string[] }
    return nats?.[0] === undefined ? undefined : Number(new URL(nats[0]).port)
  } catch {
    return undefined
  }
}
