// The options of one process: flags win over NOWNEXT_* variables, and those over the defaults.
import { StartError } from '../observe/service.ts'
import { checkValue, readFlags, type Value } from './flags.ts'
import { type Config, environmentName, type Flag, type Option, type OptionName, options } from './options.ts'
import { originOf } from './origin.ts'
import { didYouMean } from './suggest.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a command line says: the options, the command's own flags, and the rest. */
export type CommandLine = {
  config: Config
  /** The command's own flags without dashes → value. */
  flags: Map<string, Value>
  positionals: string[]
}

const table = Object.entries(options) as Array<[OptionName, Option]>

/** The options that are flags of `serve`, or of the commands that talk to a running service. */
export function optionsFor(use: 'serve' | 'client'): Option[] {
  return table.map(([, option]) => option).filter(option => option.for === use || option.for === 'both')
}

/**
 * Reads `argv` (without the command) and the environment. An empty variable counts as unset.
 * Throws a StartError of one line that names the flag or variable at fault and what is allowed.
 */
export function parseCommandLine(
  argv: readonly string[],
  env: Environment,
  use: 'serve' | 'client',
  own: readonly Flag[] = [],
): CommandLine {
  refuseUnknownVariables(env)
  const { values, positionals } = readFlags(argv, [...optionsFor(use), ...own])
  const entries = table.map(([name, option]) => [name, optionValue(option, values, env)] as const)
  const isSet = (option: Flag) => values.has(option.flag) || Boolean(env[environmentName(option)])
  const config = withSharing(withAddresses(Object.fromEntries(entries) as Config, isSet))
  checkTogether(config)
  const ownNames = new Set(own.map(({ flag }) => flag))
  const flags = new Map([...values].filter(([flag]) => ownNames.has(flag)))
  return { config, flags, positionals }
}

/** The options of `serve`. Throws a StartError of one line, also on an argument that is no flag. */
export function parseConfig(argv: readonly string[], env: Environment): Config {
  const { config, positionals } = parseCommandLine(argv, env, 'serve')
  if (positionals.length > 0)
    throw new StartError(`serve takes flags only, not "${positionals[0]}"; see --help`)
  return config
}

function optionValue(option: Option, flags: Map<string, Value>, env: Environment): Value | undefined {
  const name = environmentName(option)
  const variable = env[name]
  const fromVariable =
    variable === undefined || variable === '' ? undefined : checkValue(option, variable, name)
  const value = flags.get(option.flag) ?? fromVariable ?? option.default
  return option.type === 'list' && typeof value === 'string' ? value.split(',') : value
}

const addresses = [
  ['baseUrl', 'intakePort'],
  ['apiUrl', 'edgePort'],
  ['consoleUrl', 'consolePort'],
] as const

/** Where the service's own variables say where it listens, the command line need not be told once more. */
function withAddresses(config: Config, isSet: (option: Flag) => boolean): Config {
  const made = addresses
    .filter(([url, port]) => !isSet(options[url]) && config[port] !== 0)
    .map(([url, port]) => [url, originOf(config, 'http', config[port])])
  return { ...config, ...Object.fromEntries(made) }
}

/** Who starts a process for an edge alone wants one more of them: it shares its port without being told to. */
function withSharing(config: Config): Config {
  const isEdgeAlone = config.roles.every(role => role === 'edge')
  return { ...config, shareEdgePort: config.shareEdgePort || isEdgeAlone }
}

/** A mistyped variable would be silently without effect; so it is refused. */
function refuseUnknownVariables(env: Environment): void {
  const prefix = 'NOWNEXT_'
  const known = new Set(table.map(([, option]) => environmentName(option)))
  for (const name of Object.keys(env)) {
    if (name.startsWith(prefix) && !known.has(name))
      throw new StartError(
        `unknown variable ${name}${didYouMean(name, known, prefix)}; see nownext serve --help`,
      )
  }
}

function checkTogether(config: Config): void {
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined))
    throw new StartError(
      'TLS needs both --tls-cert and --tls-key (NOWNEXT_TLS_CERT and NOWNEXT_TLS_KEY), or neither',
    )
}
