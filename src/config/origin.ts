// The addresses of the service's own listeners, as its options make them.
import type { Config } from './options.ts'

/** `scheme`: without the s of TLS. */
export function originOf(
  { host, tlsCert }: Pick<Config, 'host' | 'tlsCert'>,
  scheme: 'http' | 'ws',
  port: number,
): string {
  return `${scheme}${tlsCert === undefined ? '' : 's'}://${reachable(host)}:${port}`
}

/** One can bind to every address, but not go there. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
