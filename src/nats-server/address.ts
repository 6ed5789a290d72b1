// Where the embedded nats-server listens, written down so that the command line finds it.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../observe/service.ts'

export type NatsAddress = { url: string; user: string; password: string }

const nameOf = (dataDir: string) => join(dataDir, 'nats.json')

/** Readable by the owner only: it holds the credentials. */
export function writeNatsJson(dataDir: string, address: NatsAddress): void {
  const fresh = `${nameOf(dataDir)}.new`
  rmSync(fresh, { force: true })
  writeFileSync(fresh, `${JSON.stringify(address)}\n`, { mode: 0o600 })
  renameSync(fresh, nameOf(dataDir))
}

export function removeNatsJson(dataDir: string): void {
  rmSync(nameOf(dataDir), { force: true })
}

/** The address of the service that runs on a data folder; undefined where none does. Throws a StartError if it may not be read. */
export function readNatsJson(dataDir: string): NatsAddress | undefined {
  try {
    return JSON.parse(readFileSync(nameOf(dataDir), 'utf8')) as NatsAddress
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartError(`${nameOf(dataDir)} cannot be read: ${(error as Error).message}`)
  }
}
