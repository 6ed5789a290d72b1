// A real nats-server with JetStream for a test, on a free port of loopback.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findNatsServer } from '../../src/nats-server/find.ts'
import { launchNats, type NatsProcess } from '../../src/nats-server/process.ts'
import { standStill } from './stand-still.ts'

export type TestNats = {
  readonly url: string
  /** Not set: the test server takes anybody. */
  readonly user?: string
  readonly password?: string
  /** The folder of its store. */
  readonly dir: string
  readonly pid: number
  /** Ends it; removes the folder unless the test gave it. */
  stop(): Promise<void>
  /** kill -9. Whatever was acknowledged stays in the store; restart() reads it again. */
  kill(): Promise<void>
  /** It stands still (SIGSTOP) once this returns: connections stay open and nothing is answered. */
  pause(): void
  resume(): void
  /** On the same port and store, after an orderly stop if it still runs. */
  restart(): Promise<void>
  /** Makes this what its configuration says beside the store, and lets it read that again. */
  reconfigure(more: string): void
}

export type TestNatsOptions = {
  /** A folder to keep the store in, as an earlier server left it. */
  dir?: string
  /** Whether each write reaches the disk before its ack, as in the embedded server; default false: faster. */
  syncAlways?: boolean
  /** More lines of its configuration. */
  more?: string
}

const stopGraceMs = 10_000

/** Starts one. It is killed when the test process ends, however that ends, and does not keep it from ending. */
export async function startNats(options: TestNatsOptions = {}): Promise<TestNats> {
  const binary = await findNatsServer({ say: line => console.error(line) })
  const ownFolder = options.dir === undefined ? mkdtempSync(join(tmpdir(), 'nownext-nats-')) : undefined
  const dir = options.dir ?? ownFolder ?? ''
  mkdirSync(dir, { recursive: true })
  const configFile = join(dir, 'test-nats.conf')
  const sync = options.syncAlways === true ? 'sync_interval: always' : ''
  const configure = (more = '') =>
    writeFileSync(configFile, `jetstream { store_dir: ${JSON.stringify(dir)}, ${sync} }\n${more}\n`)
  configure(options.more)

  const run = async (port: number): Promise<{ nats: NatsProcess; guard: ChildProcess; port: number }> => {
    const nats = launchNats({
      binary,
      args: ['-c', configFile, '-a', '127.0.0.1', '-p', String(port)],
      portsFolder: dir,
      onLine: () => undefined,
    })
    const guard = guardOf(nats.pid, ownFolder)
    try {
      return { nats, guard, port: await nats.ready }
    } catch (error) {
      guard.kill('SIGKILL')
      throw error
    }
  }
  const end = async (how: NodeJS.Signals) => {
    // One that stands still hears no SIGTERM.
    current.nats.signal('SIGCONT')
    current.nats.signal(how)
    await current.nats.stop(stopGraceMs)
    current.guard.kill('SIGKILL')
  }

  let current = await run(-1)
  let running = true
  return {
    url: `nats://127.0.0.1:${current.port}`,
    dir,
    get pid() {
      return current.nats.pid ?? 0
    },
    async stop() {
      if (running) await end('SIGTERM')
      running = false
      if (ownFolder !== undefined) rmSync(ownFolder, { recursive: true, force: true })
    },
    async kill() {
      if (running) await end('SIGKILL')
      running = false
    },
    pause() {
      standStill(current.nats.pid ?? 0)
    },
    resume() {
      current.nats.signal('SIGCONT')
    },
    async restart() {
      if (running) await end('SIGTERM')
      current = await run(current.port)
      running = true
    },
    reconfigure(more) {
      configure(more)
      current.nats.signal('SIGHUP')
    },
  }
}

/** A shell that waits for the end of this process (the pipe then closes) and cleans up: it works after a kill -9 too. */
function guardOf(pid: number | undefined, folder: string | undefined): ChildProcess {
  const script = 'read -r _; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || rm -rf "$2"'
  const guard = spawn('sh', ['-c', script, 'guard', String(pid), folder ?? ''], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  return guard
}
