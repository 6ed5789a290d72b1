// A small disk of its own for each nats-server, so that it can be filled: a tmpfs where this machine lets us.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const fillName = 'fill'
const pieces = [1024 * 1024, 4096].map(size => Buffer.alloc(size))

export class Disk {
  readonly folder: string
  /** Whether it is small enough to be filled. */
  readonly small: boolean

  constructor(folder: string, sizeMb: number) {
    this.folder = folder
    mkdirSync(folder, { recursive: true })
    this.small = mount(folder, sizeMb)
  }

  /** Takes all the room that is left. */
  fill(): void {
    if (!this.small) throw new Error('not a disk of its own')
    const file = openSync(join(this.folder, fillName), 'w')
    try {
      for (const piece of pieces) while (hasWritten(file, piece));
    } finally {
      closeSync(file)
    }
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder)
    return bavail * bsize
  }

  free(): void {
    rmSync(join(this.folder, fillName), { force: true })
  }

  get cleanUp(): string {
    return this.small ? `umount -l '${this.folder}' 2>/dev/null` : 'true'
  }
}

/** Others write to the disk meanwhile, so only an attempt tells whether there is room. */
function hasWritten(file: number, piece: Buffer): boolean {
  try {
    return writeSync(file, piece) === piece.length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}

function mount(folder: string, sizeMb: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'nownext', folder], { stdio: 'pipe' })
    return true
  } catch (error) {
    if (error instanceof Error) return false
    throw error
  }
}
