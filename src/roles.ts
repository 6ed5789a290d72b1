// Which parts a process needs for its roles, and how they are put together. A role's code is loaded by who runs it: an
// edge that comes up in a storm has no use for the code of an intake.
import { loadAdminToken } from './config/admin-token.ts'
import type { Config } from './config/options.ts'
import type { Tls } from './config/tls.ts'
import type { Console } from './console/console.ts'
import type { EdgeProcesses } from './edges/edge-processes.ts'
import type { Intake } from './intake/intake.ts'
import type { Legacy } from './legacy/legacy.ts'
import type { LogAddress, LogConnection } from './log/connection.ts'
import { EventLog } from './log/event-log.ts'
import { History } from './log/history.ts'
import { Listeners } from './log/listeners.ts'
import { Mounts } from './log/mounts.ts'
import { defaultReadLimits, ReadBudget } from './log/read-budget.ts'
import { Registry } from './log/registry.ts'
import { Tokens } from './log/tokens.ts'
import type { Topology } from './log/topology.ts'
import type { Logger } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import type { Stack } from './stack.ts'

export type Ground = {
  config: Config
  tls: Tls | undefined
  /** Where NATS is. */
  address: LogAddress
  connection: LogConnection
  topology: Topology
  log: Logger
  metrics: Metrics
  /** Something that this process needs cannot be kept running: it ends. */
  broken: () => void
}

/** The running roles as far as others need them. */
export type Roles = {
  registry: Registry
  tokens: Tokens
  intake?: Intake
  /** The edge of this process, or those that it runs. */
  edge?: { readonly port: number }
  edges?: EdgeProcesses
  console?: Console
  legacy?: Legacy
}

/** Starts the configured roles. Those that bind a port alone come before the edge, which may share its port. */
export async function startRoles(stack: Stack, ground: Ground): Promise<Roles> {
  const { config, tls, connection, topology, log, metrics } = ground
  const has = (role: string) => config.roles.includes(role)
  const registry = new Registry(connection)
  const tokens = new Tokens(connection)
  const mounts = new Mounts(connection)
  const events = new EventLog(connection, metrics)
  const roles: Roles = { registry, tokens }
  // An edge alone serves what is shown before it has read who there is, and reads that by itself.
  const isEdgeAlone = config.natsUrl !== undefined && config.roles.every(role => role === 'edge')
  const startRegistry = isEdgeAlone ? async () => undefined : () => registry.start()
  await stack.start({ id: 'registry', start: startRegistry, stop: () => registry.stop() })
  // Credentials are only where they are needed.
  if (has('intake') || has('console'))
    await stack.start({ id: 'tokens', start: () => tokens.start(), stop: () => tokens.stop() })
  if (has('console') || has('icecast'))
    await stack.start({ id: 'mounts', start: () => mounts.start(), stop: () => mounts.stop() })
  if (has('console')) {
    const { Console } = await import('./console/console.ts')
    const { host, consolePort: port } = config
    const adminToken = loadAdminToken(config)
    const budget = new ReadBudget(defaultReadLimits, metrics.historyReading)
    const history = new History({ connection, topology, budget })
    roles.console = new Console({
      host,
      port,
      tls,
      adminToken,
      registry,
      tokens,
      mounts,
      events,
      history,
      log,
      metrics,
    })
    await stack.start(roles.console)
  }
  if (has('intake')) {
    const { Intake } = await import('./intake/intake.ts')
    const listeners = new Listeners(connection)
    roles.intake = new Intake({ config, events, registry, tokens, listeners, log, metrics })
    await stack.start(roles.intake)
  }
  if (has('projector')) {
    const { Projector } = await import('./projector/projector.ts')
    await stack.start(new Projector({ connection, topology, log, metrics }))
  }
  if (has('icecast')) {
    const { Icecast } = await import('./icecast/icecast.ts')
    await stack.start(new Icecast({ connection, mounts, log, metrics }))
  }
  if (has('legacy')) {
    const { Legacy } = await import('./legacy/legacy.ts')
    roles.legacy = new Legacy({ config, tls, connection, registry, log, metrics })
    await stack.start(roles.legacy)
  }
  if (has('edge') && config.edges > 1) {
    roles.edges = await startEdges(stack, ground)
    roles.edge = roles.edges
  } else if (has('edge')) {
    const { Edge } = await import('./edge/edge.ts')
    const edge = new Edge({ config, connection, topology, registry, log, metrics })
    roles.edge = edge
    await stack.start(edge)
  }
  return roles
}

/** The edge as processes of their own; SIGUSR2 replaces them one after the other. */
async function startEdges(stack: Stack, ground: Ground): Promise<EdgeProcesses> {
  const { config, address, log, metrics, broken } = ground
  const { EdgeProcesses } = await import('./edges/edge-processes.ts')
  const edges = new EdgeProcesses({
    config,
    address,
    log,
    metrics,
    onFailed(error) {
      log.fatal({ reason: error.message }, 'the edge cannot be kept running')
      broken()
    },
  })
  await stack.start(edges)
  process.on('SIGUSR2', () => {
    log.info('replacing the edge processes')
    void edges.replaceAll()
  })
  return edges
}
