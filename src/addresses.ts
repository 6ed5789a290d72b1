// The addresses at which this process can be reached, as people and tools write them.
import type { Config } from './config/options.ts'
import type { Operations } from './observe/operations.ts'
import type { Roles } from './roles.ts'

/** Names as in the specification; only those of the roles that run here. */
export type Addresses = {
  base_url?: string
  api_url?: string
  api_ws_url?: string
  console_url?: string
  legacy_player_url?: string
  ops_url: string
}

export function addressesOf(config: Config, roles: Roles, operations: Operations): Addresses {
  const s = config.tlsCert === undefined ? '' : 's'
  const at = (scheme: string, port: number) => `${scheme}${s}://${reachable(config.host)}:${port}`
  return {
    ...(roles.intake && { base_url: at('http', roles.intake.port) }),
    ...(roles.edge && { api_url: at('http', roles.edge.port), api_ws_url: at('ws', roles.edge.port) }),
    ...(roles.console && { console_url: at('http', roles.console.port) }),
    ...(roles.legacy && { legacy_player_url: at('ws', roles.legacy.port) }),
    ops_url: `http://127.0.0.1:${operations.port}`,
  }
}

/** One can bind to every address, but not go there. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
