// The certificate and key, checked before anything listens with them.
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { StartError } from '../observe/service.ts'
import type { Config } from './options.ts'

/** Contents of the PEM files. */
export type Tls = { cert: Buffer; key: Buffer }

/** undefined where none is configured. Throws a StartError that names the file at fault. */
export function readTls({ tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>): Tls | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const tls = { cert: readPem('certificate', tlsCert), key: readPem('key', tlsKey) }
  try {
    createSecureContext(tls)
  } catch (error) {
    throw new StartError(
      `the TLS certificate ${tlsCert} and key ${tlsKey} cannot be used: ${(error as Error).message}`,
    )
  }
  return tls
}

function readPem(what: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new StartError(`the TLS ${what} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
