// Picks a command of the command line and runs it.
import { readFileSync } from 'node:fs'
import { type Environment, parseCommandLine } from '../config/parse.ts'
import { didYouMean } from '../config/suggest.ts'
import { StartError } from '../observe/service.ts'
import { type Command, CommandFlags } from './command.ts'
import { commands } from './commands.ts'
import { commandHelp, overview, serveHelp, usage } from './help.ts'
import { Output, type OutputOptions } from './output.ts'

/** What a command may touch of the process. */
export type Surroundings = {
  env: Environment
  out: OutputOptions['out']
  err: OutputOptions['err']
}

/** Runs all but `serve`. Throws a StartError of one line where that fails. */
export async function runCommand(argv: readonly string[], { env, out, err }: Surroundings): Promise<void> {
  const [first = ''] = argv
  const print = (text: string) => void out.write(text)
  if (first === '--version') return print(version())
  if (first === '--help' || first === 'help') return print(overview())
  if (first === 'serve') return print(serveHelp())
  const { command, rest } = pick(argv)
  if (rest.includes('--help')) return print(commandHelp(command))
  const { config, flags, positionals } = parseCommandLine(rest, env, 'client', command.flags)
  requireOperands(command, positionals)
  const output = new Output({ out, err, dataDir: config.data })
  await command.run({ config, flags: new CommandFlags(flags), operands: positionals, output })
}

function pick(argv: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first = '', second = ''] = argv
  for (const command of commands) {
    if (command.name === first) return { command, rest: argv.slice(1) }
    if (command.name === `${first} ${second}`) return { command, rest: argv.slice(2) }
  }
  if (first === '') throw new StartError('no command given; see nownext --help')
  const alike = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (alike.length > 0) throw new StartError(`${first} takes one of ${alike.map(lastWord).join(', ')}`)
  const names = ['serve', ...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
  throw new StartError(`unknown command ${first}${didYouMean(first, names)}; see nownext --help`)
}

function lastWord({ name }: Command): string {
  return name.split(' ').at(-1) ?? name
}

function requireOperands(command: Command, given: readonly string[]): void {
  const least = command.operands.filter(operand => !operand.startsWith('[')).length
  if (given.length < least || given.length > command.operands.length || given.includes(''))
    throw new StartError(`usage: nownext ${usage(command)}; see --help`)
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return `${JSON.parse(text).version}\n`
}
