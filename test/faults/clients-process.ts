// A thousand players in a process of their own: each has a WebSocket on a channel, and when it breaks, comes back after
// a random while and resumes behind the last record that it got.
import WebSocket from 'ws'

export type ClientsOptions = { wsUrl: string; channelkeys: string[]; count: number; seed: number }

/**
 * What happened to a client, in order: [client, what, unix milliseconds, detail]. o: open. c: closed, with the code.
 * f: a record, with its position. g: a gap was announced, with the position of what follows. x: something else came.
 */
export type ClientEvent = [client: number, what: 'o' | 'c' | 'f' | 'g' | 'x', ms: number, detail: string]

/** Full jitter: a random part of a limit that doubles. */
const firstLimitMs = 1_000
const highestLimitMs = 4_000
const handshakeTimeoutMs = 5_000

let events: ClientEvent[] = []
let isEnding = false

process.on('message', (message: { start?: ClientsOptions; take?: true }) => {
  if (message.start !== undefined) startAll(message.start)
  if (message.take) {
    process.send?.({ events })
    events = []
  }
})
process.on('disconnect', () => {
  isEnding = true
  process.exit()
})

function startAll({ wsUrl, channelkeys, count }: ClientsOptions): void {
  for (let client = 0; client < count; client++) {
    const channelkey = channelkeys[client % channelkeys.length] ?? ''
    connect(client, `${wsUrl}/metadata/channel/${channelkey}`, { position: '', attempt: 0 })
  }
}

type Memory = { position: string; attempt: number }

function connect(client: number, url: string, memory: Memory): void {
  const after = memory.position === '' ? '' : `?after=${memory.position}`
  const socket = new WebSocket(`${url}${after}`, {
    perMessageDeflate: false,
    handshakeTimeout: handshakeTimeoutMs,
  })
  const note = (what: ClientEvent[1], detail: string) => events.push([client, what, Date.now(), detail])
  socket.on('open', () => {
    memory.attempt = 0
    note('o', memory.position)
  })
  socket.on('message', data => {
    const text = String(data)
    const gap = /^\{"type":"gap".*"to":"([^"]*)"/.exec(text)?.[1]
    const position = /"position":"([^"]+)"/.exec(text)?.[1]
    if (gap !== undefined) note('g', gap)
    else if (position === undefined) note('x', text.slice(0, 200))
    else {
      memory.position = position
      note('f', position)
    }
  })
  socket.on('error', error => {
    if (/Unexpected server response/.test(error.message)) note('x', error.message)
  })
  socket.on('close', code => {
    if (isEnding) return
    note('c', String(code))
    const limitMs = Math.min(highestLimitMs, firstLimitMs * 2 ** memory.attempt++)
    setTimeout(() => connect(client, url, memory), Math.random() * limitMs)
  })
}
