// The floor of an append: the same client, publishing the same bytes with as many in flight, and nothing else.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connectLog } from '../../src/log/connection.ts'
import { createLog } from '../../src/observe/log.ts'

export type RawRun = { acks: number; seconds: number; cpu: number }

type Settings = { url: string; payload: string; inFlight: number; subjects: string[] }

const { url, payload, inFlight, subjects }: Settings = JSON.parse(process.argv[2] ?? '{}')
const { js } = await connectLog({ url }, 'raw publish', createLog('silent'), null)

async function run(seconds: number): Promise<RawRun> {
  const startedMs = performance.now()
  const before = process.cpuUsage()
  const endMs = startedMs + seconds * 1000
  let acks = 0
  let next = 0
  const lane = async () => {
    while (performance.now() < endMs) {
      const subject = subjects[next++ % subjects.length] ?? ''
      await js.publish(subject, payload, { msgID: randomUUID(), timeout: 5_000 })
      acks++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  const { user, system } = process.cpuUsage(before)
  return { acks, seconds: (performance.now() - startedMs) / 1000, cpu: (user + system) / 1e6 }
}

const server = createServer((request, response) => {
  const seconds = Number(request.url?.slice(1))
  void run(seconds).then(result => response.end(JSON.stringify(result)))
})
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }))
})
process.on('SIGTERM', () => process.exit(0))
