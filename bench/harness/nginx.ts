// nginx with the module Nchan, as Debian packages them: the installed one, else unpacked without root into a folder of
// the bench's own.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../deploy/local/ports.ts'
import { type Server, startProgram } from './processes.ts'

const packages = ['nginx', 'nginx-common', 'libnginx-mod-nchan', 'libhiredis0.14']

export type Nginx = { binary: string; module: string; libraries: string; version: string }

/** undefined, with a line that says why, where there is none and it cannot be fetched. */
export function findNginx(): Nginx | undefined {
  const found = at('') ?? at(unpack())
  if (found === undefined)
    console.log('  no nginx with Nchan here, and apt gives none: its figures are left out')
  return found
}

function at(root: string): Nginx | undefined {
  const binary = join(root, '/usr/sbin/nginx')
  const module = join(root, '/usr/lib/nginx/modules/ngx_nchan_module.so')
  if (!existsSync(binary) || !existsSync(module)) return undefined
  const version = spawnSync(binary, ['-v'], { encoding: 'utf8' }).stderr.trim()
  return {
    binary,
    module,
    libraries: join(root, `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`),
    version,
  }
}

function unpack(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nownext-bench-nginx-'))
  const script = `apt-get download ${packages.join(' ')} && for deb in *.deb; do dpkg -x "$deb" root; done`
  spawnSync('sh', ['-c', script], { cwd: folder, stdio: 'ignore' })
  return join(folder, 'root')
}

/** One worker, which publishes what is posted to /t to the WebSockets on /t, and serves `files` under /files. */
export async function startNginx(
  { binary, module, libraries }: Nginx,
  files: Record<string, string>,
): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'nownext-bench-nginx-'))
  mkdirSync(join(folder, 'files'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'files', name), text)
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `load_module ${module};
daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 18000; }
http {
  access_log off; types { application/json json; } keepalive_requests 100000000; open_file_cache max=100;
  sendfile on; tcp_nopush on;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location = /t { nchan_pubsub websocket http; nchan_channel_id t; nchan_message_buffer_length 1; nchan_message_timeout 10s; nchan_subscriber_first_message newest; }
    location /files/ { root ${folder}; }
  }
}
`,
  )
  const command = [...privateVarLib(), binary, '-p', folder, '-c', config]
  const server = startProgram(command, `127.0.0.1:${port}`, {
    ...process.env,
    LD_LIBRARY_PATH: libraries,
  })
  for (let tries = 0; tries < 100 && !(await answers(port)); tries++)
    await new Promise(r => setTimeout(r, 50))
  return server
}

/** Nchan makes nginx look for Debian's folder whatever is configured: an unpacked one, run by root, gets it for itself alone. */
function privateVarLib(): string[] {
  if (existsSync('/var/lib/nginx')) return []
  const script = 'mount -t tmpfs none /var/lib && mkdir /var/lib/nginx && exec "$@"'
  return ['unshare', '--mount', 'sh', '-c', script, 'sh']
}

async function answers(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/files/`).then(
    () => true,
    () => false,
  )
}
