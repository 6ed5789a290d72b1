// The certificate, checked before it is given to the library, which would not say what is wrong with it.
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { StartError } from '../observe/service.ts'
import type { Uws, UwsApp } from './uws.ts'

/** An app over TLS where a certificate and its key are given (PEM files). Throws a StartError where they do not serve. */
export function createApp({ library }: Uws, cert: string | undefined, key: string | undefined): UwsApp {
  if (cert === undefined && key === undefined) return library.App()
  if (cert === undefined || key === undefined)
    throw new StartError('TLS takes both --tls-cert and --tls-key; only one is given')
  try {
    createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) })
  } catch (error) {
    throw new StartError(
      `the TLS certificate ${cert} with the key ${key} cannot be used: ${messageOf(error)}`,
    )
  }
  return library.SSLApp({ cert_file_name: cert, key_file_name: key })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
