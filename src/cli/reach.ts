// The services that the command line talks to, and what is said where one cannot be reached.
import { environmentName, type Option, options } from '../config/options.ts'
import { StartError } from '../observe/service.ts'

/** How each is named in messages, and the option that holds its address. */
const services = {
  'the push service': options.baseUrl,
  'the delivery service': options.apiUrl,
  'the console': options.consoleUrl,
} as const satisfies Record<string, Option>

export type ServiceName = keyof typeof services

/** The error for a request that got no answer. */
export function unreachable(who: ServiceName, url: string, error: unknown): StartError {
  const { origin } = new URL(url)
  const option = services[who]
  return new StartError(
    `${who} at ${origin} cannot be reached: ${reasonOf(error)}; --${option.flag} or ${environmentName(option)} sets the address`,
  )
}

/** What went wrong on the way to a service, in words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no answer in time'
  // fetch says only "fetch failed"; what failed is its cause.
  const { code = '', message } = (error.cause ?? error) as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  return `${message || code || error.message}${hintOf(code, message)}`
}

/** TLS and plain HTTP do not understand each other, and neither says so. */
function hintOf(code: string, message: string): string {
  if (/CERT|SIGNATURE/.test(code))
    return ' (NODE_EXTRA_CA_CERTS names a file of further certificates to trust)'
  if (/SSL|TLS|EPROTO/.test(code)) return ' (is it http?)'
  if (/^HPE_|UND_ERR_SOCKET|ECONNRESET/.test(code) || message.includes('socket hang up'))
    return ' (is it https?)'
  return ''
}
