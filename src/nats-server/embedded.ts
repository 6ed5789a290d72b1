// The embedded nats-server of one data folder: started, kept running, stopped.
import { randomBytes } from 'node:crypto'
import { accessSync, constants, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Logger } from '../observe/log.ts'
import { StartError } from '../observe/service.ts'
import { type NatsAddress, removeNatsJson, writeNatsJson } from './address.ts'
import { packageRoot } from './find.ts'
import { type FolderLock, lockFolder } from './lock.ts'
import { relayLine } from './log-line.ts'
import { endOrphan, recordServer } from './orphan.ts'
import { launchNats, type NatsProcess } from './process.ts'
import { SpaceWatch } from './space-watch.ts'

export type EmbeddedNatsOptions = {
  /** Holds the store (`nats/`), the address (`nats.json`), the pid and the lock; made if missing. */
  dataDir: string
  /** As findNatsServer found it. */
  binary: string
  log: Logger
  /** Called once when it cannot be kept running; it is down then. */
  onFailed: (error: Error) => void
}

const stopGraceMs = 10_000
const firstDelayMs = 50
const delayFactor = 4
/** So many exits within the window are a crash loop; it begins anew with the first delay when the window has passed. */
const maxExits = 5
const exitWindowMs = 60_000

export class EmbeddedNats {
  readonly #options: EmbeddedNatsOptions
  readonly #dataDir: string
  readonly #storeDir: string
  readonly #pidFile: string
  readonly #space: SpaceWatch
  readonly #user = 'nownext'
  // A word for the configuration: it must not begin with a digit.
  readonly #password = `p${randomBytes(24).toString('hex')}`
  // Where the program ends without stop(), its server needs not wait for the next start to be ended.
  readonly #endOnExit = () => this.#process?.signal('SIGTERM')

  #lock: FolderLock | undefined
  #process: NatsProcess | undefined
  /** -1 until the first start found a free one; clients reconnect to it. */
  #port = -1
  #stopping = false
  /** It ends because we want it to start again. */
  #restarting = false
  #exits: number[] = []
  #restart: NodeJS.Timeout | undefined

  constructor(options: EmbeddedNatsOptions) {
    this.#options = options
    this.#dataDir = resolve(options.dataDir)
    this.#storeDir = join(this.#dataDir, 'nats')
    this.#pidFile = join(this.#dataDir, 'nats.pid')
    this.#space = new SpaceWatch({
      storeDir: this.#storeDir,
      log: options.log,
      restart: () => {
        this.#restarting = this.#process !== undefined
        void this.#process?.stop(stopGraceMs)
      },
    })
  }

  /**
   * Resolves to the address once the server takes connections, its store read again. Throws a StartError where the
   * folder cannot be written, another nownext runs on it, or the server does not start.
   */
  async start(): Promise<NatsAddress> {
    this.#lock = this.#takeFolder()
    try {
      await this.#endOrphan()
      if (this.#stopping) throw new Error('it was stopped before')
      process.on('exit', this.#endOnExit)
      this.#port = await this.#launch().ready
      const address = { url: `nats://127.0.0.1:${this.#port}`, user: this.#user, password: this.#password }
      writeNatsJson(this.#dataDir, address)
      this.#options.log.info({ url: address.url, store: this.#storeDir }, 'nats-server started')
      return address
    } catch (error) {
      await this.stop()
      throw new StartError(`The embedded nats-server does not start: ${(error as Error).message}`)
    }
  }

  /** Ends the server in order (killed after 10 s) and leaves the folder to others. May be called at any time, twice too. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restart)
    this.#space.stop()
    process.off('exit', this.#endOnExit)
    await this.#process?.stop(stopGraceMs)
    if (this.#lock === undefined) return
    removeNatsJson(this.#dataDir)
    rmSync(this.#pidFile, { force: true })
    this.#lock.release()
    this.#lock = undefined
  }

  #takeFolder(): FolderLock {
    try {
      // The store holds the passwords of mounts.
      mkdirSync(this.#storeDir, { recursive: true, mode: 0o700 })
      accessSync(this.#dataDir, constants.W_OK)
      return lockFolder(join(this.#dataDir, 'lock'))
    } catch (error) {
      if (error instanceof StartError) throw error
      throw new StartError(`The data folder ${this.#dataDir} cannot be used: ${(error as Error).message}`)
    }
  }

  async #endOrphan(): Promise<void> {
    const pid = await endOrphan(this.#pidFile, this.#storeDir, stopGraceMs)
    if (pid !== undefined) this.#options.log.warn({ pid }, 'ended a nats-server that outlived its nownext')
    // A killed server leaves its ports file, and its pid may be given again.
    for (const name of readdirSync(this.#storeDir)) {
      if (name.endsWith('.ports')) rmSync(join(this.#storeDir, name))
    }
  }

  #launch(): NatsProcess {
    const launched = launchNats({
      binary: this.#options.binary,
      args: ['-c', join(packageRoot, 'nats.conf')],
      env: {
        NATS_HOST: '127.0.0.1',
        NATS_PORT: String(this.#port),
        NATS_USER: this.#user,
        NATS_PASSWORD: this.#password,
        NATS_STORE_DIR: JSON.stringify(this.#storeDir),
        NATS_MAX_FILE_STORE: String(this.#space.takeLimit()),
        NATS_SYNC_INTERVAL: 'always',
      },
      portsFolder: this.#storeDir,
      onLine: line => this.#heard(line),
    })
    this.#process = launched
    if (launched.pid !== undefined) recordServer(this.#pidFile, launched.pid)
    void launched.exited.then(how => this.#exited(how))
    return launched
  }

  #heard(line: string): void {
    relayLine(line, this.#options.log)
    this.#space.heard(line)
  }

  #exited(how: string): void {
    this.#process = undefined
    // While it never ran, start() tells of it.
    if (this.#stopping || this.#port === -1) return
    if (this.#restarting) {
      this.#restarting = false
      this.#relaunch()
      return
    }
    const now = performance.now()
    this.#exits = [...this.#exits.filter(at => at > now - exitWindowMs), now]
    if (this.#exits.length >= maxExits) {
      this.#options.onFailed(
        new Error(`nats-server ended ${maxExits} times within ${exitWindowMs / 1000} s, last with ${how}`),
      )
      return
    }
    const delayMs = firstDelayMs * delayFactor ** (this.#exits.length - 1)
    this.#options.log.error({ how, delayMs }, 'nats-server ended unexpectedly; it is started again')
    this.#restart = setTimeout(() => this.#relaunch(), delayMs)
  }

  #relaunch(): void {
    try {
      this.#launch().ready.then(
        () => this.#options.log.info('nats-server takes connections again'),
        // Its exit tells of itself.
        () => undefined,
      )
    } catch (error) {
      this.#options.onFailed(error as Error)
    }
  }
}
