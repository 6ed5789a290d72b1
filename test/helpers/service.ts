// The program as its users run it: a process of its own, on free ports, with a data folder of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Addresses } from '../../src/addresses.ts'

export type ServiceOptions = {
  /** NOWNEXT_* variables; ports are 0 (free ones) and the admin token is `testAdminToken` unless set here. */
  env?: Record<string, string>
  roles?: string
  natsUrl?: string
  /** A folder to keep; else a temporary one, removed by stop(). */
  dataDir?: string
  /** More arguments of `serve`. */
  args?: string[]
}

export type AdminAnswer = {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer is asserted by the test
  body: any
}

export type TestService = {
  readonly baseUrl: string
  readonly apiUrl: string
  readonly wsUrl: string
  readonly consoleUrl: string
  readonly opsUrl: string
  readonly adminToken: string
  readonly dataDir: string
  readonly pid: number
  /** Asks the console's API: `admin('PUT', '/stations/s', {…})`. */
  admin(method: string, path: string, body?: unknown): Promise<AdminAnswer>
  /** Everything that it has written. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** Resolves to its exit status, or the signal that ended it. */
  exited: Promise<number | NodeJS.Signals>
  /** SIGTERM; resolves to the exit status. Removes a temporary data folder. */
  stop(): Promise<number | NodeJS.Signals>
  /** kill -9: an embedded nats-server stays behind, and the next start on the data folder ends it. */
  kill(): Promise<void>
}

export const testAdminToken = 'admin-token-of-the-tests'
const root = process.cwd()
const build = process.env['TEST_DIST']
/** Arguments of node that start the program: as `npm test` has built it, else from source. */
export const program = build === undefined ? ['--import', 'tsx', 'src/main.ts'] : [`${build}/src/main.js`]
const startLimitMs = 60_000

/** Starts `nownext serve` and resolves when it is ready; rejects with its output if it ends before. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const ownFolder = options.dataDir === undefined ? mkdtempSync(join(tmpdir(), 'nownext-data-')) : undefined
  const dataDir = options.dataDir ?? ownFolder ?? ''
  const env = serviceEnv(options, dataDir)
  const child = spawnProgram(['serve', ...(options.args ?? [])], env)
  const guard = guardOf(child)
  const output = collect(child)
  const exited = exitOf(child)
  const addresses = await Promise.race([readyLine(child, output), exited.then(() => undefined)])
  if (addresses === undefined) {
    guard.kill('SIGKILL')
    throw new Error(`nownext did not become ready:\n${output()}`)
  }
  const adminToken = env['NOWNEXT_ADMIN_TOKEN'] || readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  return {
    baseUrl: addresses.base_url ?? '',
    apiUrl: addresses.api_url ?? '',
    wsUrl: addresses.api_ws_url ?? '',
    consoleUrl: addresses.console_url ?? '',
    opsUrl: addresses.ops_url,
    adminToken,
    dataDir,
    pid: child.pid ?? 0,
    admin: (method, path, body) => askAdmin(`${addresses.console_url}/api${path}`, adminToken, method, body),
    output,
    signal: name => void child.kill(name),
    exited,
    async stop() {
      child.kill('SIGTERM')
      const status = await exited
      guard.kill('SIGKILL')
      if (ownFolder !== undefined) rmSync(ownFolder, { recursive: true, force: true })
      return status
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
      guard.kill('SIGKILL')
    },
  }
}

export type Ended = { status: number | NodeJS.Signals; stdout: string; stderr: string }

/** Runs the program until it ends by itself: a command, or a `serve` that cannot start. */
export async function runProgram(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawnProgram(args, env)
  const guard = guardOf(child)
  const stdout = collect(child, 'stdout')
  const stderr = collect(child, 'stderr')
  const status = await exitOf(child)
  guard.kill('SIGKILL')
  return { status, stdout: stdout(), stderr: stderr() }
}

/** Free ports, and what the options say. */
export function serviceEnv(options: ServiceOptions, dataDir: string): Record<string, string> {
  return {
    NOWNEXT_INTAKE_PORT: '0',
    NOWNEXT_EDGE_PORT: '0',
    NOWNEXT_CONSOLE_PORT: '0',
    NOWNEXT_OPS_PORT: '0',
    NOWNEXT_ADMIN_TOKEN: testAdminToken,
    NOWNEXT_DATA: dataDir,
    ...(options.roles === undefined ? {} : { NOWNEXT_ROLES: options.roles }),
    ...(options.natsUrl === undefined ? {} : { NOWNEXT_NATS_URL: options.natsUrl }),
    ...options.env,
  }
}

/** The program as a process; it inherits no NOWNEXT_* variable. */
export function spawnProgram(args: string[], env: Record<string, string>): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('NOWNEXT_'))
  return spawn(process.execPath, [...program, ...args], {
    cwd: root,
    env: { ...Object.fromEntries(inherited), NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function collect(child: ChildProcess, only?: 'stdout' | 'stderr'): () => string {
  let text = ''
  for (const name of ['stdout', 'stderr'] as const) {
    if (only !== undefined && only !== name) continue
    child[name]?.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
  }
  return () => text
}

async function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
  const [status, signal] = await once(child, 'close')
  return status ?? signal
}

/** The log line that names the addresses. */
function readyLine(child: ChildProcess, output: () => string): Promise<Addresses> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGTERM')
      reject(new Error(`nownext is not ready after ${startLimitMs / 1000} s:\n${output()}`))
    }, startLimitMs)
    child.once('close', () => clearTimeout(timer))
    child.stdout?.on('data', () => {
      const line = /^\{.*"ops_url":.*\}$/m.exec(output())?.[0]
      if (line === undefined) return
      clearTimeout(timer)
      resolve(JSON.parse(line))
    })
  })
}

/** A shell that waits for the end of the test process, however that ends, and then ends the program. */
function guardOf(child: ChildProcess): ChildProcess {
  const guard = spawn('sh', ['-c', 'read -r _; kill -TERM "$1" 2>/dev/null', 'guard', String(child.pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  return guard
}

async function askAdmin(url: string, token: string, method: string, body: unknown): Promise<AdminAnswer> {
  const response = await fetch(url, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}
