// Log lines for people: `20:15:00 warn  disconnected from NATS port=4222`.

const levels: Record<string, { name: string; color: string }> = {
  debug: { name: 'debug', color: '2' },
  info: { name: 'info ', color: '32' },
  warn: { name: 'warn ', color: '33' },
  error: { name: 'error', color: '31' },
  fatal: { name: 'fatal', color: '31' },
}

/** A pino destination that writes each JSON line as a short one. Stacks follow on lines of their own. */
export function terminalLines(out: Pick<NodeJS.WritableStream, 'write'>): { write(line: string): void } {
  return { write: line => void out.write(`${terminalLine(line)}\n`) }
}

export function terminalLine(json: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(json)
  const { name, color } = levels[level] ?? { name: String(level), color: '0' }
  const fields = Object.entries(rest).map(([key, value]) => `${key}=${inline(value)}`)
  const stack = err?.stack === undefined ? '' : `\n${err.stack}`
  const words = [localTime(time), `\u001b[${color}m${name}\u001b[0m`, msg, dim(fields.join(' '))]
  return words.filter(word => word !== undefined && word !== '').join(' ') + stack
}

function localTime(iso: string): string {
  return new Date(iso).toTimeString().slice(0, 8)
}

function inline(value: unknown): string {
  return typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)
}

function dim(text: string): string {
  return text === '' ? '' : `\u001b[2m${text}\u001b[0m`
}
