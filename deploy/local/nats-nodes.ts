// The three nats-servers of the cluster.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNatsServer } from '../../src/nats-server/find.ts'
import { ask } from './ask.ts'
import { Disk } from './disk.ts'
import { Guard } from './guard.ts'
import type { Network } from './network.ts'
import { freePort } from './ports.ts'
import { LocalProcess } from './process.ts'

export type NatsNode = {
  readonly process: LocalProcess
  readonly disk: Disk
  readonly index: number
  /** host:port for clients. */
  readonly address: string
  readonly monitorUrl: string
}

/** Its processes end when it is closed, or when this process ends. */
export type NatsNodes = { nodes: NatsNode[]; guard: Guard; url: string }

const configFile = fileURLToPath(new URL('../nats-cluster.conf', import.meta.url))
const diskMb = 384
const user = 'nownext'
const password = 'local-cluster'
const ports = { client: 4222, cluster: 6222, monitor: 8222 }

/** Made, not started. Their disks and logs lie in the folder. */
export async function makeNatsNodes(folder: string, network: Network): Promise<NatsNodes> {
  const binary = await findNatsServer({ say: line => console.error(line) })
  const disks = [1, 2, 3].map(number => new Disk(join(folder, `nats${number}`), diskMb))
  const guard = new Guard([...disks.map(disk => disk.cleanUp), network.cleanUp].join('; '))
  const places = await Promise.all(disks.map(async (_, index) => await portsAt(network, index)))
  const routes = places.map(({ host, cluster }) => `nats://${host}:${cluster}`)
  const nodes = disks.map((disk, index) => {
    const { host, client, cluster, monitor } = places[index] ?? { host: '', ...ports }
    const { prefix } = network.place(index)
    const monitorUrl = `http://${host}:${monitor}`
    const process = new LocalProcess({
      name: `nats${index + 1}`,
      command: withPrefix(prefix, [binary, '-c', configFile, '-m', String(monitor)]),
      env: {
        NATS_NAME: `nats${index + 1}`,
        NATS_HOST: host,
        NATS_PORT: String(client),
        NATS_USER: user,
        NATS_PASSWORD: password,
        NATS_STORE_DIR: JSON.stringify(disk.folder),
        NATS_MAX_FILE_STORE: '2GB',
        NATS_SYNC_INTERVAL: '"2m"',
        NATS_CLUSTER_HOST: host,
        NATS_CLUSTER_PORT: String(cluster),
        NATS_ROUTES: JSON.stringify(routes),
      },
      logFile: join(folder, `nats${index + 1}.log`),
      // 200 once every stream and consumer here has caught up with its leader.
      isReady: async () => (await ask(`${monitorUrl}/healthz`)).status === 200,
      guard,
    })
    return { process, disk, index, address: `${host}:${client}`, monitorUrl }
  })
  const url = nodes.map(({ address }) => `nats://${user}:${password}@${address}`).join(',')
  return { nodes, guard, url }
}

async function portsAt(network: Network, index: number): Promise<typeof ports & { host: string }> {
  const host = network.place(index).address
  if (network.isolated) return { host, ...ports }
  const [client, cluster, monitor] = [await freePort(), await freePort(), await freePort()]
  return { host, client, cluster, monitor }
}

function withPrefix(prefix: readonly string[], command: [string, ...string[]]): [string, ...string[]] {
  const [first = command[0], ...rest] = [...prefix, ...command]
  return [first, ...rest]
}
