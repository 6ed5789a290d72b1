// A program for the tests: takes and leaves the lock of a folder many times, and checks that it was alone each time.
import { closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lockFolder } from '../../src/nats-server/lock.ts'
import { StartError } from '../../src/observe/service.ts'

const folder = process.argv[2] ?? ''
const times = Number(process.argv[3])
const room = join(folder, 'room')
for (let taken = 0; taken < times; ) {
  try {
    const lock = lockFolder(folder)
    // Fails where another is inside.
    closeSync(openSync(room, 'wx'))
    rmSync(room)
    lock.release()
    taken++
  } catch (error) {
    if (!(error instanceof StartError)) throw error
  }
}
