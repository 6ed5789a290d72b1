// The one table of options. It yields the flags, the NOWNEXT_* variables, --help and the README's table.

export type OptionType = 'string' | 'port' | 'integer' | 'number' | 'path' | 'url' | 'list' | 'date'

export type Option = {
  /** Flag without dashes; the environment name is NOWNEXT_ + this in capitals with underscores. */
  flag: string
  type: OptionType
  /** Shown when unset means something; undefined: no default. */
  default?: string | number
  /** Unit of the value, where it has one. */
  unit?: string
  min?: number
  max?: number
  description: string
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
  roles: {
    flag: 'roles',
    type: 'list',
    default: 'intake,projector,edge,console',
    for: 'serve',
    description: 'Roles that this process runs',
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
    for: 'both',
    description:
      'NATS to use, for example nats://user:password@10.0.0.5:4222; without it a nats-server is embedded',
  },
  adminToken: {
    flag: 'admin-token',
    type: 'string',
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
    description: 'debug, info, warn, error or silent',
  },
  baseUrl: {
    flag: 'base-url',
    type: 'url',
    default: 'http://127.0.0.1:8100',
    for: 'client',
    description: 'Push service that the command line talks to',
  },
  apiUrl: {
    flag: 'api-url',
    type: 'url',
    default: 'http://127.0.0.1:8200',
    for: 'client',
    description: 'Delivery service that the command line talks to',
  },
  consoleUrl: {
    flag: 'console-url',
    type: 'url',
    default: 'http://127.0.0.1:8300',
    for: 'client',
    description: 'Console that the command line talks to',
  },
} as const satisfies Record<string, Option>

export type OptionName = keyof typeof options

type ValueOf<T extends OptionType> = T extends 'port' | 'integer' | 'number'
  ? number
  : T extends 'list'
    ? string[]
    : string

/** The parsed options. Those without a default may be undefined. */
export type Config = {
  readonly [N in OptionName]: (typeof options)[N] extends { default: string | number }
    ? ValueOf<(typeof options)[N]['type']>
    : ValueOf<(typeof options)[N]['type']> | undefined
}
