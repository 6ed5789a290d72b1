// What the command line prints.
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../observe/service.ts'
import { Progress } from './progress.ts'

export type OutputOptions = {
  out: { write(text: string): unknown; isTTY?: boolean }
  err: { write(text: string): unknown; isTTY?: boolean }
  /** Where secrets go that may not be printed. */
  dataDir: string
}

export class Output {
  readonly #options: OutputOptions

  constructor(options: OutputOptions) {
    this.#options = options
  }

  line(text: string): void {
    this.#options.out.write(`${text}\n`)
  }

  warning(text: string): void {
    this.#options.err.write(`warning: ${text}\n`)
  }

  /** What is no part of the result, such as how much was written: on standard error. */
  note(text: string): void {
    this.#options.err.write(`${text}\n`)
  }

  /** A line that shows how far a long command is; only on a terminal. */
  progress(label: string): Progress {
    return new Progress(this.#options.err, label)
  }

  /** Much text, as it stands; resolves when the reader takes more. */
  async text(text: string): Promise<void> {
    const { out } = this.#options
    if (out.write(text) === false && out instanceof EventEmitter) await once(out, 'drain')
  }

  json(value: unknown): void {
    this.line(JSON.stringify(value, null, 2))
  }

  /** Columns of equal width under their heads; a hint where there is no row. */
  table(heads: readonly string[], rows: readonly (readonly string[])[], ifEmpty: string): void {
    const all = rows.length === 0 ? [[ifEmpty]] : [heads, ...rows]
    const widths = heads.map((_, column) => Math.max(...all.map(row => (row[column] ?? '').length)))
    for (const row of all)
      this.line(
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      )
  }

  /**
   * Tells a push token: to a terminal as it is, else it goes into a file that only the owner can read, and the
   * file's path is printed. Throws a StartError where that file cannot be written; the token is lost then.
   */
  token(channelkey: string, token: string): void {
    if (this.#options.out.isTTY) {
      this.line(`push token of ${channelkey} (shown only now): ${token}`)
      return
    }
    const folder = join(this.#options.dataDir, 'tokens')
    const file = join(folder, `${channelkey}.${randomBytes(4).toString('hex')}`)
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new StartError(
        `the new push token of ${channelkey} cannot be written to ${file} (${code}); revoke it and add another`,
      )
    }
    this.line(`push token of ${channelkey}: written to ${file}`)
  }
}
