// A small disk of its own for each nats-server, so that it can be filled: a tmpfs where this machine lets us.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const fillName = 'fill'

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
    const { bavail, bsize } = statfsSync(this.folder)
    writeFileSync(join(this.folder, fillName), Buffer.alloc(bavail * bsize))
  }

  free(): void {
    rmSync(join(this.folder, fillName), { force: true })
  }

  get cleanUp(): string {
    return this.small ? `umount -l '${this.folder}' 2>/dev/null` : 'true'
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
