// One run of a nats-server: from its spawn to its exit.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { isComplaint } from './log-line.ts'

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
  /** Nothing happens where it is gone. */
  signal(name: NodeJS.Signals): void
  /** Asks it to end, kills it after the grace, resolves when it is gone. */
  stop(graceMs: number): Promise<void>
}

const pollMs = 10
const complaintsKept = 5

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
  const complaints: string[] = []
  createInterface({ input: child.stderr }).on('line', line => {
    if (isComplaint(line)) complaints.push(line)
    if (complaints.length > complaintsKept) complaints.shift()
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
      rmSync(portsFile, { force: true })
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
      else reject(new Error([`it ended with ${ended}`, ...complaints].join(' | ')))
    }, pollMs)
  })
  // Whoever waits for exited only must not be ended by an unhandled rejection.
  ready.catch(() => undefined)
  return {
    pid: child.pid,
    ready,
    exited,
    signal(name) {
      child.kill(name)
    },
    async stop(graceMs) {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await exited
      clearTimeout(timer)
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
