// A stream server's hooks at a steady rate, from a process of its own: what that takes must not count. As Icecast
// does, each mount keeps its connection and sends a hook only when the one before is answered.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type FloodOrder = {
  port: number
  path: string
  /** Metaids are this and a number. */
  metaid: string
  count: number
  /** Over which they are sent evenly, if the answers keep up. */
  overMs: number
  mounts: number
}

export type FloodResult = {
  /** From the sending of each to its answer, ascending. */
  timesMs: number[]
  /** How long it all took. */
  tookMs: number
  /** How many answers had which status and header: `200 1`. */
  answers: Record<string, number>
}

process.on('message', (order: FloodOrder) => {
  flood(order).then(
    result => process.send?.(result),
    error => process.send?.({ timesMs: [], tookMs: 0, answers: { [String(error)]: order.count } }),
  )
})

async function flood(order: FloodOrder): Promise<FloodResult> {
  const sockets = await Promise.all(Array.from({ length: order.mounts }, () => open(order.port)))
  const result: FloodResult = { timesMs: [], tookMs: 0, answers: {} }
  const startMs = performance.now()
  let sent = 0
  const runMount = async (socket: Socket) => {
    while (sent < order.count) {
      const index = sent++
      const earlyMs = startMs + (index / order.count) * order.overMs - performance.now()
      if (earlyMs > 1) await new Promise(resolve => setTimeout(resolve, earlyMs))
      await send(socket, hookOf(order, index), result)
    }
  }
  await Promise.all(sockets.map(runMount))
  result.tookMs = performance.now() - startMs
  result.timesMs.sort((a, b) => a - b)
  for (const socket of sockets) socket.destroy()
  return result
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.setEncoding('latin1')
  await once(socket, 'connect')
  return socket
}

function hookOf({ path, metaid }: FloodOrder, index: number): string {
  const mount = encodeURIComponent(`/live.mp3?metaid=${metaid}-${index}`)
  const body = `action=listener_add&server=localhost&port=8000&client=c&mount=${mount}&user=&pass=&ip=192.0.2.1&agent=Player`
  const type = 'Content-Type: application/x-www-form-urlencoded'
  return `POST ${path} HTTP/1.1\r\nHost: intake\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

async function send(socket: Socket, request: string, { timesMs, answers }: FloodResult): Promise<void> {
  const startMs = performance.now()
  socket.write(request, 'latin1')
  let answer = ''
  while (!isWhole(answer)) {
    const [chunk] = await once(socket, 'data')
    answer += chunk
  }
  timesMs.push(performance.now() - startMs)
  const [, status] = answer.split(' ', 2)
  const name = `${status} ${/\r\nicecast-auth-user: (.*)\r\n/i.exec(answer)?.[1]}`
  answers[name] = (answers[name] ?? 0) + 1
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(answer)?.[1] ?? 0)
  return end >= 0 && answer.length >= end + 4 + length
}
