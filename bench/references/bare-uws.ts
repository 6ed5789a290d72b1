// The floor: a server that does nothing but publish what is posted to it, and answer every GET with the same bytes and
// headers, on the same build of uWebSockets.js with the same settings of its sockets.

import { listen } from '../../src/edge/listen.ts'
import { idleTimeoutSeconds } from '../../src/edge/socket.ts'
import { loadUws } from '../../src/edge/uws.ts'

type Settings = {
  answer?: { status: string; headers: [string, string][]; body: string | null }
  /** What a new socket is sent. */
  snapshot?: string[]
}

const { answer, snapshot = [] }: Settings = JSON.parse(process.argv[2] ?? '{}')
const nothing = () => undefined
const uws = loadUws()
const app = uws.library.App()
const body = answer?.body === undefined || answer.body === null ? null : Buffer.from(answer.body)
const records = snapshot.map(text => Buffer.from(text))

app.ws('/*', {
  idleTimeout: idleTimeoutSeconds,
  sendPingsAutomatically: true,
  maxPayloadLength: 16 * 1024,
  maxBackpressure: 262_144,
  closeOnBackpressureLimit: true,
  compression: uws.library.DISABLED,
  upgrade(res, req, context) {
    let [key, protocol, extensions] = ['', '', '']
    req.forEach((name, value) => {
      if (name === 'sec-websocket-key') key = value
      else if (name === 'sec-websocket-protocol') protocol = value
      else if (name === 'sec-websocket-extensions') extensions = value
    })
    res.upgrade({ path: req.getUrl() }, key, protocol, extensions, context)
  },
  open(ws) {
    for (const record of records) ws.send(record, false)
    ws.subscribe((ws.getUserData() as { path: string }).path)
  },
  message: nothing,
  drain: nothing,
  pong: nothing,
  close: nothing,
})
app.any('/*', (res, req) => {
  if (req.getMethod() === 'post') {
    const topic = req.getUrl()
    const parts: Buffer[] = []
    res.onAborted(() => undefined)
    type WithData = { onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): void }
    ;(res as unknown as WithData).onData((chunk, isLast) => {
      parts.push(Buffer.from(chunk.slice(0)))
      if (!isLast) return
      app.publish(topic, Buffer.concat(parts), false)
      res.cork(() => res.writeStatus('202 Accepted').end(''))
    })
    return
  }
  res.writeStatus(answer?.status ?? '200 OK')
  for (const [name, value] of answer?.headers ?? []) res.writeHeader(name, value)
  if (body === null) res.endWithoutBody()
  else res.end(body)
})
const { port } = listen(uws, app, '127.0.0.1', 0)
console.log(JSON.stringify({ port }))
process.on('SIGTERM', () => process.exit(0))
