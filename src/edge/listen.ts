// Binding the port. The library's listen queue holds 512 connections; eight queues on one port take the rush of
// players that come back after a restart (5,000 at once in 0.2 s, where one queue takes 3 s).
import { StartError } from '../observe/service.ts'
import type { Uws, UwsApp, UwsListenSocket } from './uws.ts'

const queues = 8

export type Listening = { port: number; close(): void }

/**
 * Listens on a host and port; port 0 finds a free one. Several edges may share a port (SO_REUSEPORT); a program that
 * does not share it makes this throw a StartError.
 */
export function listen({ library }: Uws, app: UwsApp, host: string, wanted: number): Listening {
  const port = wanted === 0 ? freePort(library, app, host) : wanted
  const sockets = Array.from({ length: queues }, () => bind(app, host, port))
  return {
    port,
    close() {
      for (const socket of sockets.splice(0)) library.us_listen_socket_close(socket)
    },
  }
}

/** The library shares no port that the system chose, so that one is let go and bound again. */
function freePort(library: Uws['library'], app: UwsApp, host: string): number {
  const socket = bind(app, host, 0)
  const port = library.us_socket_local_port(socket)
  library.us_listen_socket_close(socket)
  return port
}

function bind(app: UwsApp, host: string, port: number): UwsListenSocket {
  let bound: UwsListenSocket | false = false
  app.listen(host, port, socket => {
    bound = socket
  })
  if (bound === false)
    throw new StartError(`the edge cannot listen on ${host}:${port}: the port is in use, or not allowed`)
  return bound
}
