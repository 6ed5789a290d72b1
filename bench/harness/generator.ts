// The load generator: C, compiled when a bench first needs it, on the generator's core. Node as a generator would be
// the limit itself: reading frames costs it more than uWebSockets.js needs to write them.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { generatorCore } from './cores.ts'

/** What a phase measured. Times in milliseconds, from sending a message to reading it; CPU and duration in seconds. */
export type Phase = {
  messages: number
  expected: number
  delivered: number
  seconds: number
  serverCpu: number
  ownCpu: number
  median: number
  p99: number
  max: number
  /** From sending a message to its last delivery. */
  lastMedian: number
  lastP99: number
  answers: number
  errors: number
  answerMedian: number
  answerP99: number
  closed: number
  phase: string
}

export type Connected = Pick<Phase, 'seconds' | 'serverCpu' | 'ownCpu' | 'median' | 'p99'> & {
  ready: number
  failed: number
}

export type ClientPlan = {
  address: string
  /** May hold one %d: the number of the client's channel. */
  path: string
  count: number
  outstanding?: number
  /** How many channels the clients are spread over. */
  channels?: number
  /** A client is ready with its first message, not with the 101. */
  snapshot?: boolean
  /** Every so manieth client never reads; with this receive buffer, bytes. */
  slowEvery?: number
  receiveBytes?: number
}

/** Stands in a message where its number and time go. */
export const blankToken = 'BENCH-000000-0000000000000000000'

const folder = mkdtempSync(join(tmpdir(), 'nownext-bench-'))
let binary: string | undefined

/** Throws with one clear line where there is no C compiler. */
function compile(): string {
  if (binary !== undefined) return binary
  const sources = ['main.c', 'clients.c', 'wires.c'].map(name =>
    fileURLToPath(new URL(`../generator/${name}`, import.meta.url)),
  )
  const out = join(folder, 'generator')
  const made = spawnSync('cc', ['-O2', '-o', out, ...sources], { encoding: 'utf8' })
  if (made.error !== undefined)
    throw new Error('the benches need a C compiler (cc) for their load generator; none is on the PATH')
  if (made.status !== 0) throw new Error(`the load generator does not compile:\n${made.stderr}`)
  binary = out
  return out
}

export class Generator {
  readonly #child: ChildProcess
  readonly #lines: Interface
  readonly #answers: AsyncIterator<string>
  #files = 0

  constructor(core: string = generatorCore) {
    this.#child = spawn('taskset', ['-c', core, compile()], { stdio: ['pipe', 'pipe', 'inherit'] })
    if (this.#child.stdout === null) throw new Error('the generator has no stdout')
    this.#lines = createInterface(this.#child.stdout)
    this.#answers = this.#lines[Symbol.asyncIterator]()
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  connect(plan: ClientPlan): Promise<Connected> {
    const { address, path, count, outstanding = 400, channels = 1, snapshot = false } = plan
    const slow = `${plan.slowEvery ?? 0} ${plan.receiveBytes ?? 4096}`
    return this.#ask(
      `clients ${address} ${path} ${count} ${outstanding} ${channels} ${Number(snapshot)} ${slow}`,
    )
  }

  /** What is sent from now on, in turn. */
  async messages(list: readonly Buffer[]): Promise<void> {
    const file = join(folder, `messages-${this.pid}-${this.#files++}`)
    writeFileSync(
      file,
      Buffer.concat(list.flatMap(m => [Buffer.from(`${m.length}\n`), m, Buffer.from('\n')])),
    )
    await this.#ask(`messages ${file}`)
  }

  /** Opens what messages go over: to a NATS server, or to an HTTP server, which answers each. */
  async wires(address: string, protocol: 'nats' | 'http', count = 1): Promise<void> {
    await this.#ask(`wires ${address} ${count} ${Number(protocol === 'http')}`)
  }

  /** Whose CPU is measured. */
  async server(...pids: number[]): Promise<void> {
    await this.#ask(`server ${pids.join(',')}`)
  }

  lock(count: number): Promise<Phase> {
    return this.#ask(`lock ${count}`)
  }

  rate(count: number, perSecond: number): Promise<Phase> {
    return this.#ask(`rate ${count} ${perSecond}`)
  }

  burst(count: number, bytes: number): Promise<Phase> {
    return this.#ask(`burst ${count} ${bytes}`)
  }

  closed(seconds: number): Promise<Phase> {
    return this.#ask(`closed ${seconds}`)
  }

  async disconnect(): Promise<void> {
    await this.#ask('close')
  }

  stop(): void {
    this.#child.stdin?.end()
    this.#lines.close()
  }

  async #ask<T>(line: string): Promise<T> {
    this.#child.stdin?.write(`${line}\n`)
    const { value, done } = await this.#answers.next()
    if (done) throw new Error(`the generator ended at: ${line}`)
    return JSON.parse(value)
  }
}
