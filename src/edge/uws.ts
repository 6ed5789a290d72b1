// The one module that picks the WebSocket library: upstream's own where an operator has installed it, else one of
// the two packages that carry its binaries. Which of them loads depends on Node and on the C library.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartError } from '../observe/service.ts'

/** What goes over the wire; a string is sent as UTF-8. */
type Bytes = string | Uint8Array

/** Valid until it is answered or aborted. */
export type UwsResponse = {
  writeStatus(status: string): UwsResponse
  writeHeader(name: string, value: string): UwsResponse
  end(body: Bytes, closeConnection?: boolean): UwsResponse
  endWithoutBody(): UwsResponse
  onAborted(handler: () => void): UwsResponse
  cork(callback: () => void): UwsResponse
  /** A part of a body of unknown length; false: it waits in a buffer without limit. */
  write(chunk: Bytes): boolean
  /** The buffer is emptied only by what this handler writes, so it must write something. */
  onWritable(handler: () => boolean): UwsResponse
  /** Cuts the connection; the handler of onAborted is called. */
  close(): UwsResponse
  getRemoteAddressAsText(): ArrayBuffer
  upgrade(
    userData: object,
    key: string,
    protocol: string,
    extensions: string,
    context: UwsSocketContext,
  ): void
}

/** Valid until its handler returns. */
export type UwsRequest = {
  getMethod(): string
  getUrl(): string
  /** Raw; undefined where the target has no `?`. */
  getQuery(): string | undefined
  forEach(callback: (name: string, value: string) => void): void
}

/** Valid until its close handler is called. */
export type UwsSocket<UserData> = {
  /** 1 sent, 0 buffered, 2 dropped. */
  send(message: Bytes, isBinary: boolean): 0 | 1 | 2
  getBufferedAmount(): number
  /** What is sent within goes out together. */
  cork(callback: () => void): void
  subscribe(topic: string): boolean
  end(code: number, reason: string): void
  close(): void
  getUserData(): UserData
}

export type UwsSocketContext = { readonly socketContext: unique symbol }
export type UwsListenSocket = { readonly listenSocket: unique symbol }

/** Units: bytes and seconds. */
export type UwsBehaviour<UserData> = {
  maxPayloadLength: number
  idleTimeout: number
  sendPingsAutomatically: boolean
  compression: number
  maxBackpressure: number
  closeOnBackpressureLimit: boolean
  upgrade(res: UwsResponse, req: UwsRequest, context: UwsSocketContext): void
  open(ws: UwsSocket<UserData>): void
  message(ws: UwsSocket<UserData>, message: ArrayBuffer): void
  drain(ws: UwsSocket<UserData>): void
  pong(ws: UwsSocket<UserData>): void
  close(ws: UwsSocket<UserData>, code: number, message: ArrayBuffer): void
}

export type UwsApp = {
  any(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp
  ws<UserData>(pattern: string, behaviour: UwsBehaviour<UserData>): UwsApp
  publish(topic: string, message: Bytes, isBinary: boolean): boolean
  listen(host: string, port: number, callback: (socket: UwsListenSocket | false) => void): UwsApp
  close(): UwsApp
  /** Not in every build. */
  setIdleTimeout?(seconds: number): void
  setResponseTimeout?(seconds: number): void
}

export type UwsLibrary = {
  App(): UwsApp
  SSLApp(options: { cert_file_name: string; key_file_name: string }): UwsApp
  us_listen_socket_close(socket: UwsListenSocket): void
  us_socket_local_port(socket: UwsListenSocket): number
  DISABLED: number
}

/** A build that loads here. */
export type Uws = { readonly name: string; readonly version: string; readonly library: UwsLibrary }

/** In order of preference. `main` resolves to a file in the package's own folder. */
const builds = [
  { name: 'uWebSockets.js', main: 'uWebSockets.js', binaries: '.' },
  { name: '@btc-vision/uwebsockets.js', main: '@btc-vision/uwebsockets.js', binaries: '.' },
  // The binary itself: this package's own entry silently falls back to a slow imitation.
  {
    name: '@trufflesuite/uws-js-unofficial',
    main: '@trufflesuite/uws-js-unofficial/package.json',
    binaries: 'binaries',
  },
] as const

export type UwsName = (typeof builds)[number]['name']

/**
 * Loads the preferred build, or the named one.
 * Throws a StartError that says what each of them lacks where none loads.
 */
export function loadUws(name?: UwsName): Uws {
  const reasons: string[] = []
  for (const build of builds) {
    if (name !== undefined && name !== build.name) continue
    try {
      return load(build)
    } catch (error) {
      reasons.push(`${build.name}: ${firstLine(error)}`)
    }
  }
  throw new StartError(
    `no build of uWebSockets.js loads on Node ${process.versions.node} (${process.platform} ${process.arch}); ` +
      `install uWebSockets.js itself, or take Node 20 or a glibc of at least 2.38 (${reasons.join('; ')})`,
  )
}

/** Every build that loads here; the tests of the transport run on each. */
export function loadableUws(): Uws[] {
  return builds.flatMap(build => {
    try {
      return [load(build)]
    } catch (error) {
      if (error instanceof Error) return []
      throw error
    }
  })
}

function load({ name, main, binaries }: (typeof builds)[number]): Uws {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve(main))
  const { platform, arch, versions } = process
  const library: UwsLibrary = require(
    join(folder, binaries, `uws_${platform}_${arch}_${versions.modules}.node`),
  )
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, version, library }
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0] ?? ''
}
