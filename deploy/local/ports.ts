// Ports that stay the same over restarts.
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that the system gives to outgoing connections: one of those could hold ours while a process restarts. */
const lowest = 12_000
const highest = 32_000
const taken = new Set<number>()

/** A port of loopback that is free now and is given only once. Throws where none is found. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    if (taken.has(port) || !(await isFree(port))) continue
    taken.add(port)
    return port
  }
  throw new Error(`no free port between ${lowest} and ${highest}`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
