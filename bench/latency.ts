// Push to WebSocket frame: how long after a push was sent does a player hold its record?
//
//   npm run bench:latency -- [--rate 100] [--channels 20] [--seconds 10]
//
// Against a running service (NOWNEXT_BASE_URL, NOWNEXT_API_URL, NOWNEXT_CONSOLE_URL, NOWNEXT_ADMIN_TOKEN). Each channel
// has one player. The clock is this process's own for both ends. The reference, in the same run: the push's own answer,
// which waits for the log's ack; a frame can hardly be faster.
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import WebSocket from 'ws'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '100' },
    channels: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '10' },
    warmup: { type: 'string', default: '2' },
  },
})
const [rate, channelCount, seconds, warmup] = [
  values.rate,
  values.channels,
  values.seconds,
  values.warmup,
].map(Number) as [number, number, number, number]
const baseUrl = process.env['NOWNEXT_BASE_URL'] ?? 'http://127.0.0.1:8100'
const apiUrl = process.env['NOWNEXT_API_URL'] ?? 'http://127.0.0.1:8200'
const consoleUrl = process.env['NOWNEXT_CONSOLE_URL'] ?? 'http://127.0.0.1:8300'
const adminToken = process.env['NOWNEXT_ADMIN_TOKEN'] ?? ''

type Channel = { key: string; token: string }

async function put(path: string, body: object): Promise<{ token?: string }> {
  const answer = await fetch(new URL(path, consoleUrl), {
    method: 'PUT',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { token?: string }
}

const run = Date.now().toString(36)
await put(`/api/stations/bench-${run}`, { name: 'Bench' })
const channels: Channel[] = []
for (let i = 0; i < channelCount; i++) {
  const key = `bench_${run}_${i}`
  const { token = '' } = await put(`/api/channels/${key}`, { station: `bench-${run}`, name: key })
  channels.push({ key, token })
}

const sentAt = new Map<string, number>()
const frames: number[] = []
const answers: number[] = []
let measuring = false
const sockets = await Promise.all(
  channels.map(
    ({ key }) =>
      new Promise<WebSocket>((resolve, reject) => {
        const socket = new WebSocket(`${apiUrl.replace(/^http/, 'ws')}/metadata/channel/${key}`)
        socket.on('open', () => resolve(socket))
        socket.on('error', reject)
        socket.on('message', data => {
          const at = performance.now()
          const { id } = JSON.parse(String(data))
          const sent = sentAt.get(id)
          if (measuring && sent !== undefined) frames.push(at - sent)
        })
      }),
  ),
)

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

function push({ key, token }: Channel, number: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const id = `n${number}`
    const query = new URLSearchParams({ song: `Song ${number}`, artist: 'Artist', duration: '180', id })
    const counted = measuring
    const start = performance.now()
    sentAt.set(id, start)
    const sent = request(`${baseUrl}/metapush/${key}/${token}?${query}`, { agent }, answer => {
      answer.resume()
      answer.on('end', () => {
        if (answer.statusCode !== 200) reject(new Error(`push: ${answer.statusCode}`))
        if (counted) answers.push(performance.now() - start)
        resolve()
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

const pushes: Promise<void>[] = []
const beginMs = performance.now()
for (let number = 0; number < rate * (warmup + seconds); number++) {
  const dueMs = beginMs + (number * 1000) / rate
  const waitMs = dueMs - performance.now()
  if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs))
  measuring = number >= rate * warmup
  const channel = channels[number % channels.length]
  if (channel) pushes.push(push(channel, number))
}
await Promise.all(pushes)
const expected = rate * seconds
for (let waited = 0; frames.length < expected && waited < 2000; waited += 20)
  await new Promise(r => setTimeout(r, 20))
for (const socket of sockets) socket.terminate()
agent.destroy()

const quantile = (sorted: number[], q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
const row = (name: string, list: number[]) => {
  const sorted = [...list].sort((a, b) => a - b)
  const ms = (q: number) => quantile(sorted, q).toFixed(2).padStart(8)
  console.log(`${name.padEnd(24)}${String(list.length).padStart(7)}${ms(0.5)}${ms(0.99)}${ms(1)}`)
  return quantile(sorted, 0.5)
}
console.log(`${rate} pushes/s over ${channelCount} channels for ${seconds} s, after ${warmup} s of warm-up`)
console.log(
  `${'ms'.padEnd(24)}${'count'.padStart(7)}${'median'.padStart(8)}${'p99'.padStart(8)}${'max'.padStart(8)}`,
)
const frame = row('push to frame', frames)
const answer = row('push to answer (ack)', answers)
console.log(`ratio of the medians: ${(frame / answer).toFixed(2)}`)
if (frames.length !== expected) {
  console.error(`${expected - frames.length} frames did not come`)
  process.exitCode = 1
}
