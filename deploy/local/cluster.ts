// A cluster on one machine: three nats-servers, two of each role, HAProxy in front of both sides.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ask } from './ask.ts'
import { Guard } from './guard.ts'
import { keepAlive } from './liveness.ts'
import { makeNatsNodes, type NatsNode, type NatsNodes } from './nats-nodes.ts'
import { makeNetwork, type Network } from './network.ts'
import { freePort } from './ports.ts'
import { LocalProcess } from './process.ts'

export type ClusterOptions = {
  /** The compiled program. */
  program: string
  /** More NOWNEXT_* variables for each process. */
  env?: Record<string, string>
  say?: (line: string) => void
}

const roles = ['intake', 'projector', 'edge'] as const
const haproxyConfig = fileURLToPath(new URL('haproxy.cfg', import.meta.url))

export class Cluster {
  readonly folder: string
  readonly network: Network
  readonly adminToken = 'admin-token-of-the-local-cluster'
  readonly #options: ClusterOptions
  readonly #guard = new Guard('true')
  readonly #processes = new Map<string, LocalProcess>()
  readonly #opsPorts = new Map<string, number>()
  #nats: NatsNodes | undefined
  #endLiveness: (() => void) | undefined
  #addresses = { push: '', delivery: '', console: '' }

  constructor(options: ClusterOptions) {
    this.#options = options
    this.folder = mkdtempSync(join(tmpdir(), 'nownext-cluster-'))
    this.network = makeNetwork()
  }

  /** Starts everything; resolves when all of it is ready. Stopped again where that fails. */
  async start(): Promise<void> {
    try {
      await this.#startAll()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async #startAll(): Promise<void> {
    const { say = () => undefined } = this.#options
    this.#nats = await makeNatsNodes(this.folder, this.network)
    for (const { process } of this.nats) process.launch()
    await Promise.all(this.nats.map(({ process }) => process.ready()))
    this.#endLiveness = keepAlive(this.nats)
    say(`three nats-servers, ${this.network.isolated ? 'each with an address of its own' : 'on loopback'}`)
    // The console makes the streams; the others find them.
    const consolePort = await freePort()
    await this.#make('console', 'console', { NOWNEXT_CONSOLE_PORT: String(consolePort) })
    await this.process('console').start()
    const env: Record<string, string> = {}
    for (const role of roles) {
      for (const number of [1, 2]) {
        const port = String(await freePort())
        const name = `${role}${number}`
        await this.#make(name, role, { NOWNEXT_INTAKE_PORT: port, NOWNEXT_EDGE_PORT: port })
        env[name.toUpperCase()] = `127.0.0.1:${port}`
        env[`${name.toUpperCase()}_OPS`] = String(this.#opsPorts.get(name))
      }
    }
    const names = roles.flatMap(role => [`${role}1`, `${role}2`])
    await Promise.all(names.map(name => this.process(name).start()))
    say('a console, two intakes, two projectors, two edges')
    const [push, delivery] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
    this.#addresses = { push, delivery, console: `127.0.0.1:${consolePort}` }
    this.#makeHaproxy({ ...env, PUSH_ADDRESS: push, DELIVERY_ADDRESS: delivery })
    await this.process('haproxy').start()
    say('HAProxy in front of intakes and edges')
  }

  get nats(): readonly NatsNode[] {
    return this.#nats?.nodes ?? []
  }

  /** For NOWNEXT_NATS_URL: all three, with credentials. */
  get natsUrl(): string {
    return this.#nats?.url ?? ''
  }

  get baseUrl(): string {
    return `http://${this.#addresses.push}`
  }

  get apiUrl(): string {
    return `http://${this.#addresses.delivery}`
  }

  get wsUrl(): string {
    return `ws://${this.#addresses.delivery}`
  }

  get consoleUrl(): string {
    return `http://${this.#addresses.console}`
  }

  /** Everything that runs, in the order of its start. */
  get processes(): LocalProcess[] {
    return [...this.nats.map(({ process }) => process), ...this.#processes.values()]
  }

  /** By name: nats1 to nats3, console, intake1, intake2, projector1, …, edge2, haproxy. */
  process(name: string): LocalProcess {
    const found = this.processes.find(process => process.name === name)
    if (found === undefined) throw new Error(`no process ${name}`)
    return found
  }

  /** The value of a metric without labels; NaN where the process does not answer. */
  async metric(name: string, metric: string): Promise<number> {
    const { body } = await ask(`${this.#opsUrl(name)}/metrics`)
    return Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(body)?.[1] ?? Number.NaN)
  }

  /** What its /readyz says; status 0 for no answer. */
  readiness(name: string): Promise<{ status: number; body: string }> {
    return ask(`${this.#opsUrl(name)}/readyz`)
  }

  /** Stops everything in order, the log last, and removes it. */
  async stop(): Promise<void> {
    this.#endLiveness?.()
    await Promise.all([...this.#processes.values()].map(process => process.stop()))
    await Promise.all(this.nats.map(({ process }) => process.stop()))
    await Promise.all([this.#guard.close(), this.#nats?.guard.close()])
    rmSync(this.folder, { recursive: true, force: true })
  }

  #opsUrl(name: string): string {
    return `http://127.0.0.1:${this.#opsPorts.get(name)}`
  }

  async #make(name: string, role: string, env: Record<string, string>): Promise<void> {
    const opsPort = await freePort()
    this.#opsPorts.set(name, opsPort)
    const process = new LocalProcess({
      name,
      command: [globalThis.process.execPath, this.#options.program, 'serve', '--roles', role],
      env: {
        NOWNEXT_NATS_URL: this.natsUrl,
        NOWNEXT_REPLICAS: '3',
        NOWNEXT_ADMIN_TOKEN: this.adminToken,
        NOWNEXT_DATA: this.folder,
        NOWNEXT_OPS_PORT: String(opsPort),
        // HAProxy looks twice a second.
        NOWNEXT_LEAVE: '2',
        ...env,
        ...this.#options.env,
      },
      logFile: join(this.folder, `${name}.log`),
      isReady: async () => (await this.readiness(name)).status === 200,
      guard: this.#guard,
    })
    this.#processes.set(name, process)
  }

  #makeHaproxy(env: Record<string, string>): void {
    const haproxy = new LocalProcess({
      name: 'haproxy',
      command: ['haproxy', '-f', haproxyConfig, '-db'],
      env,
      logFile: join(this.folder, 'haproxy.log'),
      isReady: async () => (await ask(`${this.apiUrl}/metadata/`)).status === 404,
      guard: this.#guard,
    })
    this.#processes.set('haproxy', haproxy)
  }
}
