// A small disk of its own for each nats-server, so that it can be filled: a tmpfs where this machine lets us.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
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
  async fill(): Promise<void> {
    if (!this.small) throw new Error('not a disk of its own')
    const file = await open(join(this.folder, fillName), 'w')
    try {
      for (const piece of pieces) while (await hasWritten(file, piece));
    } finally {
      await file.close()
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
async function hasWritten(file: FileHandle, piece: Buffer): Promise<boolean> {
  try {
    return (await file.write(piece)).bytesWritten === piece.length
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
