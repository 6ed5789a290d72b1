// A real Icecast and a real source (Debian's icecast2 and ezstream) on a free port of loopback.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../deploy/local/ports.ts'
import { until } from './log.ts'

export type TestMount = {
  /** With its slash. */
  name: string
  user: string
  password: string
  /** Left out: Icecast's own default, ISO 8859-1. */
  charset?: string
  /** URL-auth hooks for listeners: called when one comes, and when it goes (rule 28). */
  listenerHooks?: { add: string; remove: string }
}

export type IcecastSetup = { port: number; adminPassword: string; folder: string; mounts: TestMount[] }

const shareFolder = '/usr/share/icecast2'

/** The icecast.xml that docs/icecast.md explains. */
export function icecastXml({ port, adminPassword, folder, mounts }: IcecastSetup): string {
  return `<icecast>
  <location>test</location>
  <admin>test@localhost</admin>
  <hostname>localhost</hostname>
  <limits>
    <clients>100</clients>
    <sources>${mounts.length}</sources>
    <header-timeout>5</header-timeout>
    <client-timeout>10</client-timeout>
    <source-timeout>5</source-timeout>
    <burst-on-connect>1</burst-on-connect>
    <burst-size>8192</burst-size>
  </limits>
  <authentication>
    <source-password>${escapeXml(adminPassword)}-source</source-password>
    <admin-user>admin</admin-user>
    <admin-password>${escapeXml(adminPassword)}</admin-password>
  </authentication>
  <listen-socket>
    <port>${port}</port>
    <bind-address>127.0.0.1</bind-address>
  </listen-socket>
${mounts.map(mountXml).join('\n')}
  <paths>
    <basedir>${shareFolder}</basedir>
    <logdir>${folder}</logdir>
    <webroot>${shareFolder}/web</webroot>
    <adminroot>${shareFolder}/admin</adminroot>
  </paths>
  <logging>
    <accesslog>access.log</accesslog>
    <errorlog>error.log</errorlog>
    <loglevel>3</loglevel>
  </logging>
</icecast>
`
}

/** One mount of it; docs/icecast.md shows the same. */
export function mountXml({ name, user, password, charset, listenerHooks }: TestMount): string {
  const lines = [
    '  <mount type="normal">',
    `    <mount-name>${escapeXml(name)}</mount-name>`,
    `    <username>${escapeXml(user)}</username>`,
    `    <password>${escapeXml(password)}</password>`,
  ]
  if (charset !== undefined) lines.push(`    <charset>${escapeXml(charset)}</charset>`)
  if (listenerHooks !== undefined) {
    lines.push(
      '    <authentication type="url">',
      `      <option name="listener_add" value="${escapeXml(listenerHooks.add)}"/>`,
      `      <option name="listener_remove" value="${escapeXml(listenerHooks.remove)}"/>`,
      '      <option name="auth_header" value="icecast-auth-user: 1"/>',
      '    </authentication>',
    )
  }
  return [...lines, '  </mount>'].join('\n')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

export type TestIcecast = {
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly adminPassword: string
  mount(name: string): TestMount
  /** Connects a source (silent MP3) and resolves once its mount can be heard. */
  source(name: string): Promise<TestSource>
  /** Ends Icecast and its sources; removes the folder. */
  stop(): Promise<void>
}

export type TestSource = {
  /** Ends it and resolves once Icecast has noticed. */
  stop(): Promise<void>
}

/** Starts one for these mounts. Throws where Icecast or ezstream is not installed. */
export async function startIcecast(mounts: TestMount[]): Promise<TestIcecast> {
  requirePrograms()
  const folder = mkdtempSync(join(tmpdir(), 'nownext-icecast-'))
  const port = await freePort()
  const adminPassword = 'admin-test-password'
  writeFileSync(join(folder, 'icecast.xml'), icecastXml({ port, adminPassword, folder, mounts }))
  writeFileSync(join(folder, 'silence.mp3'), silentMp3())
  const icecast = launch('icecast2', ['-c', join(folder, 'icecast.xml')], folder)
  const sources = new Set<ChildProcess>()
  const url = `http://127.0.0.1:${port}`
  const mount = (name: string) => {
    const found = mounts.find(one => one.name === name)
    if (found === undefined) throw new Error(`the test's Icecast has no mount ${name}`)
    return found
  }
  await until('Icecast listens', () => listens(port))
  return {
    url,
    port,
    folder,
    adminPassword,
    mount,
    async source(name) {
      const file = join(folder, `source${name.replaceAll('/', '-')}.xml`)
      writeFileSync(file, ezstreamXml(port, mount(name), join(folder, 'silence.mp3')), { mode: 0o600 })
      own(file)
      const child = launch('ezstream', ['-c', file], folder)
      sources.add(child)
      await until(`${name} has a source`, () => hasSource(url, mount(name)))
      return {
        async stop() {
          await end(child)
          sources.delete(child)
          await until(`${name} has no source`, async () => !(await hasSource(url, mount(name))))
        },
      }
    },
    async stop() {
      await Promise.all([...sources, icecast].map(end))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function requirePrograms(): void {
  for (const program of ['icecast2', 'ezstream']) {
    const found = ['/usr/bin', '/usr/local/bin'].some(folder => existsSync(join(folder, program)))
    if (!found) throw new Error(`${program} is not installed: apt-get install icecast2 ezstream`)
  }
}

/** Icecast refuses to run as root: then both run as nobody, in a folder of nobody's. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

function own(path: string): void {
  if (unprivileged !== undefined) chownSync(path, unprivileged.uid, unprivileged.gid)
}

function launch(program: string, args: string[], folder: string): ChildProcess {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  own(folder)
  const child = spawn(program, args, { cwd: folder, stdio: 'ignore', ...unprivileged })
  child.on('error', error => console.error(`${program}: ${error.message}`))
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

function ezstreamXml(port: number, { name, user, password }: TestMount, file: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<ezstream>
  <servers><server>
    <hostname>127.0.0.1</hostname><port>${port}</port>
    <user>${escapeXml(user)}</user><password>${escapeXml(password)}</password>
  </server></servers>
  <streams><stream><mountpoint>${escapeXml(name)}</mountpoint><format>MP3</format></stream></streams>
  <intakes><intake><type>file</type><filename>${file}</filename></intake></intakes>
  <metadata><no_updates>yes</no_updates></metadata>
</ezstream>
`
}

/** 30 s of silence: MPEG-1 layer III frames, 128 kbit/s at 44.1 kHz, without any sample in them. */
function silentMp3(): Buffer {
  const frame = Buffer.alloc(417)
  frame.set([0xff, 0xfb, 0x90, 0x64])
  return Buffer.concat(Array.from({ length: 1150 }, () => frame))
}

async function hasSource(url: string, { name }: TestMount): Promise<boolean> {
  const response = await fetch(`${url}/status-json.xsl`)
  return (await response.text()).includes(`${name}"`)
}

function listens(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

/** A source of another address (127.0.0.2 …) than the sources of `source()` have; they cannot choose theirs. */
export async function connectSource(
  port: number,
  mount: TestMount,
  localAddress: string,
): Promise<TestSource> {
  const credentials = Buffer.from(`${mount.user}:${mount.password}`).toString('base64')
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.write(
    `SOURCE ${mount.name} HTTP/1.0\r\nAuthorization: Basic ${credentials}\r\nContent-Type: audio/mpeg\r\n\r\n`,
  )
  await once(socket, 'data')
  const second = silentMp3().subarray(0, 38 * 417)
  const timer = setInterval(() => socket.write(second), 1_000)
  socket.write(second)
  socket.on('error', () => clearInterval(timer))
  const url = `http://127.0.0.1:${port}`
  await until(`${mount.name} has a source`, () => hasSource(url, mount))
  return {
    async stop() {
      clearInterval(timer)
      socket.destroy()
    },
  }
}
