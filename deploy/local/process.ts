// A process of the cluster: started, killed, stopped for a while, started again with the same address.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, openSync, readFileSync } from 'node:fs'
import type { Guard } from './guard.ts'

export type ProcessOptions = {
  name: string
  command: readonly [string, ...string[]]
  env: Record<string, string>
  /** What it writes goes here, all its lives behind each other. */
  logFile: string
  /** Resolves to whether it serves. */
  isReady: () => Promise<boolean>
  guard: Guard
}

const pollMs = 50
const readyLimitMs = 60_000
const stopLimitMs = 60_000

export class LocalProcess {
  readonly name: string
  readonly #options: ProcessOptions
  #child: ChildProcess | undefined
  #exited: Promise<unknown> | undefined
  /** More variables for the next life. */
  extraEnv: Record<string, string> = {}

  constructor(options: ProcessOptions) {
    this.name = options.name
    this.#options = options
  }

  /** undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  get running(): boolean {
    return this.#child !== undefined
  }

  isReady(): Promise<boolean> {
    return this.#options.isReady()
  }

  /** Starts it; with start() alone nobody waits for its being ready. */
  launch(): void {
    if (this.#child !== undefined) return
    const { command, env, logFile, guard, name } = this.#options
    const log = openSync(logFile, 'a')
    const [file, ...args] = command
    const child = spawn(file, args, {
      env: { ...outsideEnv(), ...env, ...this.extraEnv },
      stdio: ['ignore', log, log],
      // A Ctrl-C is for the one who started all of them, who stops them in order.
      detached: true,
    })
    closeSync(log)
    child.on('error', error => appendFileSync(logFile, `${name} can't be started: ${error.message}\n`))
    this.#child = child
    if (child.pid !== undefined) guard.add(child.pid)
    const ended = () => {
      if (child.pid !== undefined) guard.remove(child.pid)
      if (this.#child === child) this.#child = undefined
    }
    // One that can't be started has no exit, only an error.
    this.#exited = once(child, 'exit').then(ended, ended)
  }

  /** Starts it and resolves when it serves. Throws with the end of its log when it does not. */
  async start(): Promise<void> {
    this.launch()
    await this.ready()
  }

  /** Resolves when it serves. Throws with the end of its log when it ends or takes over a minute. */
  async ready(): Promise<void> {
    const endMs = Date.now() + readyLimitMs
    while (!(await this.isReady())) {
      if (this.#child === undefined || Date.now() > endMs) {
        const tail = readFileSync(this.#options.logFile, 'utf8').split('\n').slice(-15).join('\n')
        throw new Error(`${this.name} is not ready:\n${tail}`)
      }
      await new Promise(resolve => setTimeout(resolve, pollMs))
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** kill -9; resolves when it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.#exited
  }

  /** Asks it to end in order and resolves when it is gone; killed after a minute. */
  async stop(): Promise<void> {
    this.signal('SIGCONT')
    this.signal('SIGTERM')
    const limit = setTimeout(() => this.signal('SIGKILL'), stopLimitMs)
    await this.#exited
    clearTimeout(limit)
  }
}

/** Nothing that was meant for another nownext comes from outside. */
function outsideEnv(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !/^(NOWNEXT|NATS)_/.test(name))
  return { ...Object.fromEntries(entries), NODE_OPTIONS: '' }
}
