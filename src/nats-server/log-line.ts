// The output of a nats-server, made part of this program's log.
import type { Logger } from '../observe/log.ts'

// `[pid] date time [LVL] text`
const shape = /^\[\d+\] \S+ \S+ \[(\w+)\] (.*)$/

// Credentials of one loopback server, made anew at each start, need no bcrypt.
const unneeded = 'Plaintext passwords detected'

/** Its notices are details to us; what it complains of keeps its level. */
export function relayLine(line: string, log: Logger): void {
  const [, level, text = line] = shape.exec(line) ?? []
  if (text.startsWith(unneeded)) return
  if (level === undefined || level === 'ERR' || level === 'FTL') log.error(`nats-server: ${text}`)
  else if (level === 'WRN') log.warn(`nats-server: ${text}`)
  else log.debug(`nats-server: ${text}`)
}

/** Whether a line is a complaint: what a failed start is explained with. */
export function isComplaint(line: string): boolean {
  const level = shape.exec(line)?.[1]
  return level === undefined || level === 'ERR' || level === 'FTL'
}

/** Whether a line says that a stream, or all of JetStream, takes nothing more until a restart. */
export function isCriticalWrite(line: string): boolean {
  return /critical write error|will be DISABLED/i.test(line)
}

/** Whether a line says that the limit of the file store is reached: appends are refused, nothing is broken. */
export function isLimitReached(line: string): boolean {
  return line.includes('file resource limits exceeded for server')
}
