// The floor of an answer: Fastify as it comes, answering everything with one object.
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'

const answer: object = JSON.parse(process.argv[2] ?? '{}')
const app = fastify()
app.get('/*', async () => answer)
await app.listen({ port: 0, host: '127.0.0.1' })
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port }))
process.on('SIGTERM', () => process.exit(0))
