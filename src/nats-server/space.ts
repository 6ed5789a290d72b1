// How much the streams may take, so that JetStream's limit answers before the disk is full.
import { closeSync, fstatSync, openSync, readdirSync, readSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const MiB = 1024 * 1024

/** Bytes of the disk that the streams leave alone: a twentieth of what is free, at least 256 MiB. */
export function reservedBytes(freeBytes: number): number {
  return Math.max(256 * MiB, Math.ceil(freeBytes / 20))
}

/**
 * The limit in bytes for JetStream's file store: what the streams hold and what the disk still takes.
 * Never 0, which would mean no limit: on a full disk the server starts, and refuses.
 */
export function fileStoreLimit(heldBytes: number, freeBytes: number): number {
  return Math.max(1, heldBytes + Math.max(0, freeBytes - reservedBytes(freeBytes)))
}

/** Bytes that this process may still write to the disk of a folder. */
export function freeBytesAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * The bytes of all messages in a store, as JetStream counts them: uncompressed. A compressed block begins with
 * `cmp`, the algorithm, and its uncompressed size as a varint.
 */
export function heldBytes(storeFolder: string): number {
  const head = Buffer.alloc(16)
  return blockFiles(storeFolder).reduce((sum, file) => sum + blockBytes(file, head), 0)
}

function blockFiles(folder: string): string[] {
  const entries = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? []
  return entries.flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return blockFiles(path)
    return entry.name.endsWith('.blk') ? [path] : []
  })
}

function blockBytes(file: string, head: Buffer): number {
  const descriptor = unlessGone(() => openSync(file, 'r'))
  if (descriptor === undefined) return 0
  try {
    const length = readSync(descriptor, head, 0, head.length, 0)
    const compressed = length > 4 && head.toString('latin1', 0, 3) === 'cmp'
    return compressed ? varint(head, 4) : fstatSync(descriptor).size
  } finally {
    closeSync(descriptor)
  }
}

/** A server that runs removes blocks at any time. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function varint(bytes: Buffer, from: number): number {
  let value = 0
  for (let index = from, factor = 1; index < bytes.length; index++, factor *= 128) {
    const byte = bytes[index] ?? 0
    value += (byte & 127) * factor
    if (byte < 128) break
  }
  return value
}
