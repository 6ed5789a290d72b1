// The floor of a push: Fastify as it comes and the same NATS client. Every request is published as the same bytes, on
// the subjects in turn, and answered with one object once JetStream has acknowledged.
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { connectLog } from '../../src/log/connection.ts'
import { createLog } from '../../src/observe/log.ts'

type Settings = { url: string; payload: string; subjects: string[]; answer: object }

const { url, payload, subjects, answer }: Settings = JSON.parse(process.argv[2] ?? '{}')
const { js } = await connectLog({ url }, 'bare intake', createLog('silent'), null)
let next = 0
const app = fastify()
app.get('/*', async () => {
  const subject = subjects[next++ % subjects.length] ?? ''
  await js.publish(subject, payload, { msgID: randomUUID(), timeout: 5_000 })
  return answer
})
await app.listen({ port: 0, host: '127.0.0.1' })
console.log(JSON.stringify({ port: (app.server.address() as AddressInfo).port }))
process.on('SIGTERM', () => process.exit(0))
