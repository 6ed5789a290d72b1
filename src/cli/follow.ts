// One connection to the delivery service, from its opening to its end (spec 4.4).
import { WebSocket } from 'ws'
import { reasonOf } from './reach.ts'

/** How it ended. `reason` is one line for people. */
export type End = { reason: string } & (
  | { kind: 'refused'; status: number }
  | { kind: 'failed'; error: Error }
  | { kind: 'closed'; code: number }
)

export type Follower = {
  opened(): void
  message(json: string): void
}

/** The service pings every 30 s at the latest (rule 24); what is silent for longer is gone, though nobody said so. */
const silentMs = 75_000

/** Resolves when the connection has ended, or could not be made. */
export function follow(url: URL, { opened, message }: Follower): Promise<End> {
  return new Promise(resolve => {
    const socket = new WebSocket(url, { handshakeTimeout: 15_000 })
    let silence: NodeJS.Timeout | undefined
    const heard = () => {
      clearTimeout(silence)
      silence = setTimeout(() => socket.terminate(), silentMs)
    }
    socket.on('open', () => {
      heard()
      opened()
    })
    socket.on('ping', heard)
    socket.on('message', data => {
      heard()
      message(data.toString())
    })
    socket.on('unexpected-response', (request, { statusCode: status = 0 }) => {
      resolve({ kind: 'refused', status, reason: `the delivery service answers ${status}` })
      request.destroy()
    })
    socket.on('error', error => resolve({ kind: 'failed', error, reason: reasonOf(error) }))
    socket.on('close', (code, text) => {
      clearTimeout(silence)
      const words = text.length === 0 ? '' : ` ${text}`
      resolve({ kind: 'closed', code, reason: `the connection was closed (${code}${words})` })
    })
  })
}
