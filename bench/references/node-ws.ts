// A peer: the package `ws`, as most Node services use it. What is posted goes to every socket.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

const http = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', part => parts.push(part))
  request.on('end', () => {
    const message = Buffer.concat(parts)
    for (const socket of server.clients) socket.send(message, { binary: false })
    response.writeHead(202).end()
  })
})
const server = new WebSocketServer({ server: http, perMessageDeflate: false })
http.listen(0, '127.0.0.1', 8_192, () => {
  console.log(JSON.stringify({ port: (http.address() as AddressInfo).port }))
})
process.on('SIGTERM', () => process.exit(0))
