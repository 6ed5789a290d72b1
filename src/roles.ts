// Which parts a process needs for its roles, and how they are put together.
import { loadAdminToken } from './config/admin-token.ts'
import type { Config } from './config/options.ts'
import type { Tls } from './config/tls.ts'
import { Console } from './console/console.ts'
import { Edge } from './edge/edge.ts'
import { Icecast } from './icecast/icecast.ts'
import { Intake } from './intake/intake.ts'
import type { LogConnection } from './log/connection.ts'
import { EventLog } from './log/event-log.ts'
import { Listeners } from './log/listeners.ts'
import { Mounts } from './log/mounts.ts'
import { Registry } from './log/registry.ts'
import { Tokens } from './log/tokens.ts'
import type { Topology } from './log/topology.ts'
import type { Logger } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import { StartError } from './observe/service.ts'
import { Projector } from './projector/projector.ts'
import type { Stack } from './stack.ts'

export type Ground = {
  config: Config
  tls: Tls | undefined
  connection: LogConnection
  topology: Topology
  log: Logger
  metrics: Metrics
}

/** The running roles as far as others need them. */
export type Roles = {
  registry: Registry
  tokens: Tokens
  intake?: Intake
  edge?: Edge
  console?: Console
}

/** Throws a StartError for what is named but not there yet. */
export function requireBuilt({ roles, edges }: Pick<Config, 'roles' | 'edges'>): void {
  if (roles.includes('legacy'))
    throw new StartError('the role legacy is not built yet; leave it out of --roles')
  if (edges > 1) throw new StartError('more than one edge process (--edges, NOWNEXT_EDGES) is not built yet')
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
  await stack.start({ id: 'registry', start: () => registry.start(), stop: () => registry.stop() })
  await stack.start({ id: 'tokens', start: () => tokens.start(), stop: () => tokens.stop() })
  // Credentials are only where they are needed.
  if (has('console') || has('icecast'))
    await stack.start({ id: 'mounts', start: () => mounts.start(), stop: () => mounts.stop() })
  if (has('console')) {
    const { host, consolePort: port } = config
    const adminToken = loadAdminToken(config)
    roles.console = new Console({ host, port, tls, adminToken, registry, tokens, mounts, events, log })
    await stack.start(roles.console)
  }
  if (has('intake')) {
    const listeners = new Listeners(connection)
    roles.intake = new Intake({ config, events, registry, tokens, listeners, log, metrics })
    await stack.start(roles.intake)
  }
  if (has('projector')) await stack.start(new Projector({ connection, topology, log, metrics }))
  if (has('icecast')) await stack.start(new Icecast({ connection, mounts, log, metrics }))
  if (has('edge')) {
    roles.edge = new Edge({ config, connection, topology, registry, log, metrics })
    await stack.start(roles.edge)
  }
  return roles
}
