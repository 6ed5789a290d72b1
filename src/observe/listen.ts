// Binding a port; what can go wrong there is the operator's to mend.
import { createServer, type Server } from 'node:net'
import { StartError } from './service.ts'

/**
 * Listens and resolves to the port (of port 0 the one that was given).
 * Throws a StartError of one line: `the console cannot listen on 127.0.0.1:8300: the port is in use`.
 */
export async function listen(server: Server, what: string, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((error: NodeJS.ErrnoException) => {
    throw listenError(error, what, host, port)
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}

/**
 * Makes sure that nobody listens on a port which an edge would share with whoever does (SO_REUSEPORT), unless it is to:
 * a second service that was started by mistake would silently take its part of the connections. Throws a StartError.
 */
export async function requireOwnEdgePort(host: string, port: number, isShared = false): Promise<void> {
  if (isShared || port === 0) return
  const probe = createServer()
  await listen(probe, 'edge', host, port).catch((error: Error) => {
    if (!error.message.endsWith('in use')) throw error
    throw new StartError(`${error.message} (--share-edge-port shares it with another nownext)`)
  })
  await new Promise(resolve => probe.close(resolve))
}

/** The StartError of a failed listen. */
export function listenError(
  error: NodeJS.ErrnoException,
  what: string,
  host: string,
  port: number,
): StartError {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'the port is in use',
    EACCES: 'not allowed (a port below 1024 needs a privilege)',
    EADDRNOTAVAIL: 'this machine does not have that address',
    ENOTFOUND: 'no such host',
  }
  const reason = reasons[error.code ?? ''] ?? error.message
  return new StartError(`the ${what} cannot listen on ${host}:${port}: ${reason}`)
}
