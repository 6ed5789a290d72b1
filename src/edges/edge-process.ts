// One edge process, as its parent sees it.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LogAddress } from '../log/connection.ts'
import { StartError } from '../observe/service.ts'
import { type EdgeConfig, type FromEdge, type MetricList, signMs, type ToEdge } from './messages.ts'

/** From TypeScript in a checkout and in tests, else from what was compiled. */
const script = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../edge-child.ts' : '../edge-child.js', import.meta.url),
)

/** One that does not answer within it is busy or stuck; its last numbers then serve. */
const metricsLimitMs = 1_000
/** One that was not heard for so long stands still: a stopped process, or one whose event loop hangs. */
const silenceLimitMs = 5 * signMs
/** Beyond the drain time, for its last work; past it a process is killed. */
const endLimitMs = 10_000

export type EdgeProcessOptions = {
  /** From 1; it stays with the place when a process is replaced. */
  number: number
  config: EdgeConfig
  address: LogAddress
}

export class EdgeProcess {
  /** Resolves to the port once it takes requests; rejects with a StartError where it ends before. */
  readonly ready: Promise<number>
  /** Resolves when it is gone, to how: `code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>
  readonly #child: ChildProcess
  readonly #drainMs: number
  #reasons: string[] = ['starting']
  #heardMs = performance.now()
  #metrics: MetricList = []
  #metricsWaiters: Array<() => void> = []

  constructor({ number, config, address }: EdgeProcessOptions) {
    this.#drainMs = config.drain * 1000
    this.#child = fork(script, [], {
      env: withoutOptions(process.env),
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.exited = new Promise(resolve => {
      this.#child.once('error', error => resolve(error.message))
      this.#child.once('exit', (code, signal) =>
        resolve(signal === null ? `code ${code}` : `signal ${signal}`),
      )
    })
    this.ready = this.#becomeReady()
    // Whoever waits for exited only must not be ended by an unhandled rejection.
    this.ready.catch(() => undefined)
    this.#send({ type: 'start', number, config, address })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Why it cannot serve; empty when it can. */
  get reasons(): readonly string[] {
    const isSilent = this.#reasons.length === 0 && performance.now() - this.#heardMs > silenceLimitMs
    return isSilent ? ['does not answer'] : this.#reasons
  }

  /** What it counted when it was last heard. */
  get metrics(): MetricList {
    return this.#metrics
  }

  /** Resolves when `metrics` is up to date, or the process gives no answer. */
  async refreshMetrics(): Promise<void> {
    const answered = new Promise<void>(resolve => this.#metricsWaiters.push(resolve))
    this.#send({ type: 'metrics' })
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<void>(resolve => {
      timer = setTimeout(resolve, metricsLimitMs)
    })
    await Promise.race([answered, tooLate, this.exited])
    clearTimeout(timer)
  }

  /**
   * Lets it close its listening sockets, send its clients elsewhere, answer for so long what came in before, and end.
   * Resolves when it is gone.
   */
  async drain(lingerMs: number): Promise<void> {
    this.#send({ type: 'drain', lingerMs })
    await this.#gone(this.#drainMs + lingerMs + endLimitMs)
  }

  /** Ends it at once; resolves when it is gone. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#gone(endLimitMs)
  }

  #becomeReady(): Promise<number> {
    return new Promise((resolve, reject) => {
      let failure: string | undefined
      this.#child.on('message', (message: FromEdge) => {
        this.#heardMs = performance.now()
        switch (message.type) {
          case 'ready':
            this.#reasons = []
            return resolve(message.port)
          case 'failed':
            failure = message.message
            return
          case 'reasons':
            this.#reasons = message.reasons
            return
          case 'metrics':
            this.#metrics = message.metrics
            for (const waiter of this.#metricsWaiters.splice(0)) waiter()
        }
      })
      void this.exited.then(how => {
        this.#reasons = ['ended']
        reject(new StartError(failure ?? `an edge process ended with ${how} before it was ready`))
      })
    })
  }

  /** One that is gone, or just going, hears nothing; its exit tells of itself. */
  #send(message: ToEdge): void {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  async #gone(limitMs: number): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), limitMs)
    await this.exited
    clearTimeout(timer)
  }
}

/** It is told all it needs; nothing else of ours, above all no secret, stands in its environment. */
function withoutOptions(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('NOWNEXT_')))
}
