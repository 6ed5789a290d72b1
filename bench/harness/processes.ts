// Servers under measurement, each a process of its own on a core of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Addresses } from '../../src/addresses.ts'
import { serverCore } from './cores.ts'

export type Server = {
  readonly pid: number
  /** host:port. */
  readonly address: string
  /** Resident memory, KiB: now, and at its highest. */
  memory(): { rss: number; peak: number }
  /** Collects garbage; resolves when that is over. */
  collect(): Promise<void>
  stop(): Promise<void>
}

export type ServiceServer = Server & {
  readonly addresses: Addresses
  /** Seconds from the start of the process to ready. */
  readonly readyAfter: number
}

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
const root = fileURLToPath(new URL('../../', import.meta.url))
const collectOnSignal = 'data:text/javascript,process.on("SIGUSR2",()=>globalThis.gc())'
const nodeArgs = ['--expose-gc', '--import', collectOnSignal]
const startLimitMs = 120_000

/** Starts `nownext serve` with these roles on a NATS server; resolves when it is ready. */
export async function startService(
  roles: string,
  natsUrl: string,
  { core = serverCore, env = {}, node = [] as string[], args = [] as string[] } = {},
): Promise<ServiceServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'nownext-bench-data-'))
  const startedMs = performance.now()
  const child = launch(core, [...nodeArgs, ...node, join(root, 'dist/main.js'), 'serve', ...args], {
    NOWNEXT_ROLES: roles,
    NOWNEXT_NATS_URL: natsUrl,
    NOWNEXT_DATA: dataDir,
    NOWNEXT_ADMIN_TOKEN: 'admin-token-of-the-bench',
    NOWNEXT_PUSH_RATE: '100000',
    ...Object.fromEntries(['INTAKE', 'EDGE', 'CONSOLE', 'OPS'].map(name => [`NOWNEXT_${name}_PORT`, '0'])),
    ...env,
  })
  const addresses: Addresses = JSON.parse(await firstLine(child, /^\{.*"ops_url":.*\}$/m))
  const readyAfter = (performance.now() - startedMs) / 1000
  const url = addresses.api_url ?? addresses.base_url ?? addresses.ops_url
  const server = serverOf(child, new URL(url).host)
  return {
    ...server,
    addresses,
    readyAfter,
    async stop() {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Starts a reference of bench/references; resolves when it has said its port. */
export async function startReference(
  name: string,
  settings: object = {},
  node: string[] = [],
): Promise<Server> {
  const file = join(root, 'bench/references', `${name}.ts`)
  const child = launch(
    serverCore,
    [...nodeArgs, ...node, '--import', 'tsx', file, JSON.stringify(settings)],
    {},
  )
  const { port } = JSON.parse(await firstLine(child, /^\{"port":\d+\}$/m))
  return serverOf(child, `127.0.0.1:${port}`)
}

/** Starts any program that needs no word to be ready. */
export function startProgram(
  command: string[],
  address: string,
  env: NodeJS.ProcessEnv,
  core = serverCore,
): Server {
  return serverOf(spawnOn(core, command, env), address)
}

function launch(core: string, args: string[], env: NodeJS.ProcessEnv): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('NOWNEXT_'))
  return spawnOn(core, [process.execPath, ...args], {
    ...Object.fromEntries(inherited),
    NODE_OPTIONS: '',
    // Reading a system's certificates takes a tenth of a second of each start.
    NODE_EXTRA_CA_CERTS: '',
    ...env,
  })
}

function spawnOn(core: string, command: string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn('taskset', ['-c', core, ...command], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  child.once('close', () => children.delete(child))
  return child
}

/** The first line of this form that it writes; from then on what it writes is thrown away. */
function firstLine(child: ChildProcess, form: RegExp): Promise<string> {
  let text = ''
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`a server does not start:\n${text}`))
    const timer = setTimeout(fail, startLimitMs)
    child.once('close', fail)
    const read = (chunk: string) => {
      text += chunk
      const found = form.exec(text)?.[0]
      if (found === undefined) return
      clearTimeout(timer)
      for (const stream of [child.stdout, child.stderr]) stream?.off('data', read).resume()
      resolve(found)
    }
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', read)
  })
}

function serverOf(child: ChildProcess, address: string): Server {
  const pid = child.pid ?? 0
  const status = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  return {
    pid,
    address,
    memory: () => ({ rss: status('VmRSS'), peak: status('VmHWM') }),
    async collect() {
      for (let turn = 0; turn < 3; turn++) {
        child.kill('SIGUSR2')
        await new Promise(resolve => setTimeout(resolve, 300))
      }
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 8_000)
      await once(child, 'close')
      clearTimeout(timer)
    },
  }
}
