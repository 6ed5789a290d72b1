// The admin token: set by the operator, else generated into the data folder and used again from there.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateToken } from '../domain/keys.ts'
import { StartError } from '../observe/service.ts'
import { type Config, options } from './options.ts'

/** Where a generated one lies. */
export function adminTokenFile(dataDir: string): string {
  return join(dataDir, 'admin-token')
}

/** The configured token, else the generated one, made now if there is none yet. Throws a StartError. */
export function loadAdminToken({ adminToken, data }: Pick<Config, 'adminToken' | 'data'>): string {
  const known = adminToken ?? readAdminToken(data)
  if (known !== undefined) return known
  const file = adminTokenFile(data)
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    // 'wx': of two that start at once, one makes it and the other reads it.
    writeFileSync(file, `${generateToken()}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw new StartError(`the admin token cannot be written to ${file}: ${code}`)
  }
  return loadAdminToken({ adminToken: readAdminToken(data), data })
}

/** The generated token of a data folder; undefined where there is none. Throws a StartError if it cannot be used. */
export function readAdminToken(dataDir: string): string | undefined {
  const file = adminTokenFile(dataDir)
  let token: string
  try {
    token = readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new StartError(`the admin token cannot be read from ${file}: ${code}`)
  }
  const { min } = options.adminToken
  if (token.length < min)
    throw new StartError(`${file} holds no admin token of at least ${min} characters; delete it`)
  return token
}
