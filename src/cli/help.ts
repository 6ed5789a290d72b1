// --help, made from the tables of commands and options.
import { optionsFor } from '../config/parse.ts'
import { flagsHelp } from '../config/render.ts'
import type { Command } from './command.ts'
import { commands } from './commands.ts'

const serveDescription = 'Run the service: all roles and a nats-server, or some roles on a NATS'

/** What `nownext --help` says. */
export function overview(): string {
  const lines = [['serve', serveDescription], ...commands.map(c => [usage(c), c.description])]
  const width = Math.max(...lines.map(([name = '']) => name.length))
  const list = lines.map(([name = '', description]) => `  ${name.padEnd(width)}  ${description}`)
  return `Now/next metadata for radio streams.

Usage: nownext <command> [flags]

${list.join('\n')}

"nownext <command> --help" lists its flags. Every option is a flag or a NOWNEXT_* variable; flags win.
`
}

/** What `nownext serve --help` says. */
export function serveHelp(): string {
  return `${serveDescription}.

Usage: nownext serve [flags]

${flagsHelp(optionsFor('serve'))}
`
}

/** What `nownext <command> --help` says. */
export function commandHelp(command: Command): string {
  const own = command.flags.length === 0 ? '' : `${flagsHelp(command.flags)}\n\n`
  const more = command.more === undefined ? '' : `${command.more}\n\n`
  return `${command.description}.

Usage: nownext ${usage(command)} [flags]

${more}${own}Where the service is:
${flagsHelp(optionsFor('client'))}
`
}

export function usage({ name, operands }: Command): string {
  return [name, ...operands.map(operand => (operand.startsWith('[') ? operand : `<${operand}>`))].join(' ')
}
