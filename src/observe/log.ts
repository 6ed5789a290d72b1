// The program's log: one JSON object a line on standard output, or lines for people where that is a terminal.
import { type Logger, pino } from 'pino'
import { terminalLines } from './terminal.ts'

export type { Logger } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** A log for one process. No URL of a push and no header is ever given to it: they hold tokens. */
export function createLog(
  level: LogLevel,
  destination: NodeJS.WritableStream & { isTTY?: boolean } = process.stdout,
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: l => ({ level: l }) },
    },
    destination.isTTY ? terminalLines(destination) : destination,
  )
}
