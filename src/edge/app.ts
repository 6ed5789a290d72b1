// The library's app: plain or over TLS. The certificate is checked before it is given to the library, which would
// not say what is wrong with it.
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { StartError } from '../observe/service.ts'
import type { Uws, UwsApp, UwsLibrary } from './uws.ts'

/**
 * How long an idle connection is kept, where the build can be told: longer than proxies keep theirs (60 s), so that
 * none of them sends a poll into a connection that is just being closed. Seconds.
 */
const keepAliveSeconds = 75

/** An app, over TLS where a certificate and its key are given (PEM files). Throws a StartError where they do not serve. */
export function createApp({ library }: Uws, cert: string | undefined, key: string | undefined): UwsApp {
  const app = plainOrTls(library, cert, key)
  app.setIdleTimeout?.(keepAliveSeconds)
  app.setResponseTimeout?.(keepAliveSeconds)
  return app
}

function plainOrTls(library: UwsLibrary, cert: string | undefined, key: string | undefined): UwsApp {
  if (cert === undefined && key === undefined) return library.App()
  if (cert === undefined || key === undefined)
    throw new StartError('TLS takes both --tls-cert and --tls-key; only one is given')
  try {
    createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new StartError(`the TLS certificate ${cert} with the key ${key} cannot be used: ${message}`)
  }
  return library.SSLApp({ cert_file_name: cert, key_file_name: key })
}
