// The addresses at which this process can be reached, as people and tools write them.
import type { Config } from './config/options.ts'
import { originOf } from './config/origin.ts'
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
  const at = (scheme: 'http' | 'ws', port: number) => originOf(config, scheme, port)
  return {
    ...(roles.intake && { base_url: at('http', roles.intake.port) }),
    ...(roles.edge && { api_url: at('http', roles.edge.port), api_ws_url: at('ws', roles.edge.port) }),
    ...(roles.console && { console_url: at('http', roles.console.port) }),
    ...(roles.legacy && { legacy_player_url: at('ws', roles.legacy.port) }),
    ops_url: `http://127.0.0.1:${operations.port}`,
  }
}
