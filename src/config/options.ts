// The one table of options. It yields the flags, the NOWNEXT_* variables, --help and the README's table.

export type OptionType =
  | 'string'
  | 'port'
  | 'integer'
  | 'number'
  | 'path'
  | 'url'
  | 'list'
  | 'date'
  | 'boolean'

/** How one value is written and checked; the command line's own flags (--name, --json) are described so too. */
export type Flag = {
  /** Without dashes; an option's environment name is NOWNEXT_ + this in capitals with underscores. */
  flag: string
  type: OptionType
  /** Range of a number; of a string, of its length in characters. */
  min?: number
  max?: number
  /** The only values of a string, or of the items of a list. */
  choices?: readonly string[]
  /** Schemes of a url. */
  schemes?: readonly string[]
  /** Its value is never shown, not even when it is wrong. */
  secret?: true
  description: string
}

export type Option = Flag & {
  /** Shown when unset means something; undefined: no default. */
  default?: string | number
  /** Unit of the value, where it has one. */
  unit?: string
  /** Which commands take it. */
  for: 'serve' | 'client' | 'both'
}

/** Name in the Config type → option. Addresses and names are interfaces: tools depend on them. */
export const options = {
  host: {
    flag: 'host',
    type: 'string',
    default: '127.0.0.1',
    for: 'serve',
    description: 'Address that the intake, edge, console and legacy listeners bind to',
  },
  intakePort: {
    flag: 'intake-port',
    type: 'port',
    default: 8100,
    for: 'serve',
    description: 'Port of the push service',
  },
  edgePort: {
    flag: 'edge-port',
    type: 'port',
    default: 8200,
    for: 'serve',
    description: 'Port of the delivery service (polling and WebSocket)',
  },
  shareEdgePort: {
    flag: 'share-edge-port',
    type: 'boolean',
    for: 'serve',
    description:
      'Bind the edge port though another nownext listens on it: the system then spreads the connections among them; a process with the role edge alone does so anyway',
  },
  consolePort: {
    flag: 'console-port',
    type: 'port',
    default: 8300,
    for: 'serve',
    description: 'Port of the console and its API',
  },
  opsPort: {
    flag: 'ops-port',
    type: 'port',
    default: 8400,
    for: 'serve',
    description: 'Port of the operations listener (/healthz, /readyz, /metrics), always on loopback',
  },
  legacyPort: {
    flag: 'legacy-port',
    type: 'port',
    default: 8500,
    for: 'serve',
    description: 'Port of the old delivery protocol; served only where the role legacy is asked for',
  },
  legacySunset: {
    flag: 'legacy-sunset',
    type: 'date',
    for: 'serve',
    description: 'Day on which the old delivery protocol ends (2027-06-30); from then on it answers 410',
  },
  edges: {
    flag: 'edges',
    type: 'integer',
    default: 1,
    min: 1,
    max: 64,
    unit: 'processes',
    for: 'serve',
    description: 'Edge processes that share the edge port',
  },
  roles: {
    flag: 'roles',
    type: 'list',
    default: 'intake,projector,edge,console,icecast',
    choices: ['intake', 'projector', 'edge', 'console', 'icecast', 'legacy'],
    for: 'serve',
    description: 'Roles that this process runs, separated by commas',
  },
  data: {
    flag: 'data',
    type: 'path',
    default: './data',
    for: 'both',
    description: 'Folder of the embedded nats-server, its credentials and the admin token',
  },
  natsUrl: {
    flag: 'nats-url',
    type: 'url',
    schemes: ['nats', 'tls'],
    secret: true,
    for: 'both',
    description:
      'NATS to use, for example nats://user:password@10.0.0.5:4222; without it a nats-server is embedded',
  },
  adminToken: {
    flag: 'admin-token',
    type: 'string',
    min: 16,
    secret: true,
    for: 'both',
    description: 'Bearer token of the console API; generated into the data folder when unset',
  },
  replicas: {
    flag: 'replicas',
    type: 'integer',
    default: 1,
    min: 1,
    max: 5,
    for: 'serve',
    description: 'Replicas of each stream (3 in a cluster)',
  },
  retention: {
    flag: 'retention',
    type: 'integer',
    default: 400,
    min: 1,
    max: 36500,
    unit: 'days',
    for: 'serve',
    description: 'How long both logs are kept',
  },
  pushRate: {
    flag: 'push-rate',
    type: 'number',
    default: 20,
    min: 0.1,
    max: 100000,
    unit: 'pushes/s',
    for: 'serve',
    description: 'Push rate per channel and intake; the burst is three times that',
  },
  tlsCert: {
    flag: 'tls-cert',
    type: 'path',
    for: 'serve',
    description: 'Certificate chain (PEM) for the intake, edge and console listeners',
  },
  tlsKey: {
    flag: 'tls-key',
    type: 'path',
    for: 'serve',
    description: 'Private key (PEM) of the certificate',
  },
  drain: {
    flag: 'drain',
    type: 'integer',
    default: 2,
    min: 0,
    max: 600,
    unit: 'seconds',
    for: 'serve',
    description: 'Time over which an edge closes its sockets on shutdown',
  },
  leave: {
    flag: 'leave',
    type: 'integer',
    default: 0,
    min: 0,
    max: 600,
    unit: 'seconds',
    for: 'serve',
    description:
      'Time on shutdown in which /readyz says 503 and all goes on as before, so that a load balancer sends nothing new by then',
  },
  maxConnections: {
    flag: 'max-connections',
    type: 'integer',
    min: 1,
    max: 10000000,
    for: 'serve',
    description:
      'Connections of an intake; without it a twentieth of the file limit, but at least 64 and at most 10000',
  },
  maxSockets: {
    flag: 'max-sockets',
    type: 'integer',
    min: 1,
    max: 10000000,
    for: 'serve',
    description: 'Sockets per edge; without it nine tenths of the file limit',
  },
  socketQueue: {
    flag: 'socket-queue',
    type: 'integer',
    default: 262144,
    min: 4096,
    max: 67108864,
    unit: 'bytes',
    for: 'serve',
    description: 'Queue of live records per socket; a client past it is closed',
  },
  logLevel: {
    flag: 'log-level',
    type: 'string',
    default: 'info',
    for: 'serve',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    description: 'Least severe log lines that are written',
  },
  baseUrl: {
    flag: 'base-url',
    type: 'url',
    schemes: ['http', 'https'],
    default: 'http://127.0.0.1:8100',
    for: 'client',
    description:
      'Push service that the command line talks to; unset: at NOWNEXT_HOST and NOWNEXT_INTAKE_PORT',
  },
  apiUrl: {
    flag: 'api-url',
    type: 'url',
    schemes: ['http', 'https'],
    default: 'http://127.0.0.1:8200',
    for: 'client',
    description:
      'Delivery service that the command line talks to; unset: at NOWNEXT_HOST and NOWNEXT_EDGE_PORT',
  },
  consoleUrl: {
    flag: 'console-url',
    type: 'url',
    schemes: ['http', 'https'],
    default: 'http://127.0.0.1:8300',
    for: 'client',
    description: 'Console that the command line talks to; unset: at NOWNEXT_HOST and NOWNEXT_CONSOLE_PORT',
  },
} as const satisfies Record<string, Option>

export type OptionName = keyof typeof options

type ValueOf<T extends OptionType> = T extends 'port' | 'integer' | 'number'
  ? number
  : T extends 'list'
    ? string[]
    : T extends 'boolean'
      ? boolean
      : string

/** The parsed options. Those without a default may be undefined. */
export type Config = {
  readonly [N in OptionName]: (typeof options)[N] extends { default: string | number }
    ? ValueOf<(typeof options)[N]['type']>
    : ValueOf<(typeof options)[N]['type']> | undefined
}

/** The environment name of an option: NOWNEXT_EDGE_PORT of `edge-port`. */
export function environmentName(option: Flag): string {
  return `NOWNEXT_${option.flag.toUpperCase().replaceAll('-', '_')}`
}
