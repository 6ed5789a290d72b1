// What a command of the command line is made of.
import type { Value } from '../config/flags.ts'
import type { Config, Flag } from '../config/options.ts'
import type { Output } from './output.ts'

/** One use of a command, its flags and operands checked. */
export type Call = {
  config: Config
  flags: CommandFlags
  operands: readonly string[]
  output: Output
}

export type Command = {
  /** One word or two: `push`, `station set`. */
  name: string
  /** Names of the operands; those in brackets may be left out. */
  operands: readonly string[]
  description: string
  /** What --help says besides. */
  more?: string
  flags: readonly Flag[]
  /** Throws a StartError of one line where it cannot do what is asked. */
  run(call: Call): Promise<void>
}

/** The command's own flags by name; undefined where not given. Of a type that the flag's table entry guarantees. */
export class CommandFlags {
  readonly #values: ReadonlyMap<string, Value>

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values
  }

  text(flag: string): string | undefined {
    const value = this.#values.get(flag)
    return value === undefined ? undefined : String(value)
  }

  number(flag: string): number | undefined {
    const value = this.#values.get(flag)
    return value === undefined ? undefined : Number(value)
  }

  has(flag: string): boolean {
    return this.#values.has(flag)
  }
}

export const jsonFlag: Flag = { flag: 'json', type: 'boolean', description: 'Print JSON' }
