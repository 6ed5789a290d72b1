// One living process per data folder: nats-server does not lock its store, and two on one folder destroy it.
//
// Each taking makes the file `<generation>` with the taker's identity, whole at once, by link(2), which fails where
// the name is taken. A dead holder is not replaced but followed by the next generation, so of two who find it dead
// only one can win. The newest file always stays, since without it a slow starter could begin again at an old number.
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../observe/service.ts'
import { identityOf, isAlive, parseIdentity } from './identity.ts'

export type FolderLock = { release(): void }

const generationsKept = 3

/** Takes the lock in a folder (made if missing). Throws a StartError while another living process, or this one, has it. */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true })
  const claim = join(folder, `claim-${process.pid}`)
  writeFileSync(claim, JSON.stringify(identityOf(process.pid)))
  try {
    return takeLock(folder, claim)
  } finally {
    rmSync(claim, { force: true })
  }
}

function takeLock(folder: string, claim: string): FolderLock {
  for (;;) {
    const newest = newestGeneration(folder)
    const text = newest === 0 ? '' : readUnlessGone(join(folder, `${newest}`))
    if (text === undefined) continue
    const holder = parseIdentity(text)
    if (holder !== undefined && isAlive(holder)) {
      throw new StartError(`Another nownext (process ${holder.pid}) runs on this data folder: ${folder}`)
    }
    const mine = newest + 1
    const file = join(folder, `${mine}`)
    if (!linked(claim, file)) continue
    if (newestGeneration(folder) > mine) {
      // The listing was old: others took and left the lock since, and removed this very number.
      rmSync(file, { force: true })
      continue
    }
    for (const generation of generations(folder)) {
      if (generation <= mine - generationsKept) rmSync(join(folder, `${generation}`), { force: true })
    }
    return { release: () => writeFileSync(file, '') }
  }
}

function linked(existing: string, name: string): boolean {
  try {
    linkSync(existing, name)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** undefined where others have gone on by some generations since the listing. */
function readUnlessGone(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function newestGeneration(folder: string): number {
  return Math.max(0, ...generations(folder))
}

function generations(folder: string): number[] {
  return readdirSync(folder)
    .filter(name => /^\d+$/.test(name))
    .map(Number)
}
