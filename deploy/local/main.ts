// npm run cluster: a cluster on this machine, until Ctrl-C. For a first look, and for trying what happens when
// something of it dies: the pids are shown.
import { fileURLToPath } from 'node:url'
import { Cluster } from './cluster.ts'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const cluster = new Cluster({ program, say: line => console.log(`started: ${line}`) })
const stopped = new Promise(resolve => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, resolve)
})
await cluster.start()
console.log(`
push       ${cluster.baseUrl}/metapush/<channelkey>/<token>
delivery   ${cluster.apiUrl}/metadata/channel/<channelkey>.json, ${cluster.wsUrl}/metadata/channel/<channelkey>
console    ${cluster.consoleUrl}, token ${cluster.adminToken}
NATS       ${cluster.natsUrl}
logs       ${cluster.folder}/*.log
processes  ${cluster.processes.map(({ name, pid }) => `${name} ${pid}`).join(', ')}

Ctrl-C stops it all.`)
await stopped
console.log('stopping')
await cluster.stop()
