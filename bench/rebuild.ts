// How long `nownext rebuild` takes and what it needs, and what live delivery notices of it and of an export.
//
//   node --import tsx bench/rebuild.ts [events] [channels]
//
// A nats-server, a service as a process of its own, both logs filled as a projector leaves them; then pushes at a steady rate
// to one channel, timed from the request to the frame: with nothing else, with a rebuild, with an export.
import { readFileSync } from 'node:fs'
import { headers } from '@nats-io/transport-node'
import { WebSocket } from 'ws'
import type { PushEvent } from '../src/domain/event.ts'
import { initialState } from '../src/domain/state.ts'
import { connectLog, type LogConnection } from '../src/log/connection.ts'
import { timeHeader } from '../src/log/event-log.ts'
import { ensureTopology } from '../src/log/topology.ts'
import { createLog } from '../src/observe/log.ts'
import type { Known } from '../src/projector/channel-states.ts'
import { foldEvent } from '../src/projector/values.ts'
import { startNats } from '../test/helpers/nats.ts'
import { runProgram, startService } from '../test/helpers/service.ts'

const events = Number(process.argv[2] ?? 200_000)
const channels = Number(process.argv[3] ?? 10_000)
const pushesPerSecond = 20
const quietSeconds = 15
const say = (text: string) => console.log(text)

const nats = await startNats()
const connection = await connectLog({ url: nats.url }, 'bench', createLog('silent'), null)
await fill(connection)
const service = await startService({
  natsUrl: nats.url,
  roles: 'intake,projector,edge,console',
  env: { NOWNEXT_PUSH_RATE: '1000' },
})
try {
  await service.admin('PUT', '/stations/s', { name: 'S' })
  const { body } = await service.admin('PUT', '/channels/timed', { station: 's', name: 'Timed' })
  const pending = async () => (await connection.jsm.consumers.info('EVENTS', 'projector')).num_pending
  while ((await pending()) > 0) await new Promise(resolve => setTimeout(resolve, 200))
  const time = (until: Promise<unknown>) => pushUntil(body.token, until)

  say(`alone:          ${await time(new Promise(resolve => setTimeout(resolve, quietSeconds * 1000)))}`)
  const before = memory()
  const startedMs = performance.now()
  let most = 0
  const sampling = setInterval(() => {
    most = Math.max(most, memory())
  }, 100)
  const rebuild = command('rebuild')
  say(`with a rebuild: ${await time(rebuild)}`)
  clearInterval(sampling)
  say(`rebuild: ${seconds(startedMs)} s; the service's memory ${before} MB before, ${most} MB at most`)
  const { stdout, stderr } = await rebuild
  say((stdout + stderr).trim())
  const exportMs = performance.now()
  const exporting = command('export', '--output', `${nats.dir}/export.ndjson`)
  say(`with an export: ${await time(exporting)}`)
  say(`export: ${seconds(exportMs)} s; ${(await exporting).stderr.trim()}`)
} finally {
  await connection.close()
  await service.stop()
  await nats.stop()
}

/** Both logs as a projector leaves them, without the way through one: a thousand messages for one acknowledgement. */
async function fill(connection: LogConnection): Promise<void> {
  const startedMs = performance.now()
  const { incarnation } = await ensureTopology(connection, { replicas: 1, retentionDays: 400 })
  const { nc, js } = connection
  const known = new Map<string, Known>()
  let sequence = 0
  for (let number = 0; number < events; number++) {
    const { channelkey, event, timeMs } = eventOf(number)
    const head = headers()
    head.set(timeHeader, String(timeMs))
    const subject = `event.${channelkey}.now`
    const logged = { channelkey, sequence: number + 1, timeMs, event }
    const before = known.get(channelkey) ?? { state: initialState, sequence: 0 }
    const folded = foldEvent(before, logged, incarnation, sequence)
    known.set(channelkey, folded.known)
    const isLast = number % 500 === 499 || number === events - 1
    if (isLast) await js.publish(subject, JSON.stringify(event), { headers: head, timeout: 60_000 })
    else nc.publish(subject, JSON.stringify(event), { headers: head })
    for (const { json } of folded.values) {
      const expect = { lastSequence: sequence++ }
      const key = `$KV.channel.${channelkey}`
      if (isLast) await js.publish(key, json ?? '', { expect, timeout: 60_000 })
      else nc.publish(key, json ?? '')
    }
  }
  say(`${events} events over ${channels} channels written in ${seconds(startedMs)} s`)
}

function eventOf(number: number): { channelkey: string; event: PushEvent; timeMs: number } {
  const timeMs = Date.now() - 86_400_000 + Math.round((number / events) * 80_000_000)
  const channelkey = `load_${number % channels}`
  const event: PushEvent = {
    v: 1,
    kind: 'now',
    element: {
      id: `A-${number}`,
      song: `Song ${number} of the morning`,
      artist: `Artist ${number % 4999}`,
      album: `Album ${number % 9973}`,
      cover: '',
      images: null,
      separator: ' - ',
      isrc: `DEZZZ26${String(number % 100_000).padStart(5, '0')}`,
      duration: 200,
      etype: 1001,
      extdata: null,
      externalid: null,
    },
    given: ['id', 'song', 'artist', 'album', 'isrc', 'duration', 'etype'],
    startMs: timeMs,
    explicit: false,
    receivedMs: timeMs,
    intake: 'load',
    warnings: [],
    context: {
      revision: 2 ** -40,
      stationkey: 'load',
      station: 'Load',
      channel: 'Loaded',
      timezone: 'Europe/Berlin',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
    },
  }
  return { channelkey, event, timeMs }
}

/** Pushes until something is done; the times from the request to the frame, in words. */
async function pushUntil(token: string, until: Promise<unknown>): Promise<string> {
  let more = true
  void until.finally(() => {
    more = false
  })
  const socket = new WebSocket(`${service.wsUrl}/metadata/channel/timed`)
  const sent = new Map<string, number>()
  const took: number[] = []
  socket.on('message', data => {
    const startedMs = sent.get(JSON.parse(String(data)).id)
    if (startedMs !== undefined) took.push(performance.now() - startedMs)
  })
  await new Promise(resolve => socket.once('open', resolve))
  while (more) {
    const id = `${Math.random()}`
    sent.set(id, performance.now())
    const pushed = fetch(`${service.baseUrl}/metapush/timed/${token}?song=${id}&artist=A&id=${id}`)
    await Promise.all([pushed, new Promise(resolve => setTimeout(resolve, 1000 / pushesPerSecond))])
  }
  await new Promise(resolve => setTimeout(resolve, 500))
  socket.terminate()
  took.sort((a, b) => a - b)
  const at = (part: number) => (took[Math.floor(took.length * part)] ?? 0).toFixed(1)
  return `push to frame, ms: median ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, most ${(took.at(-1) ?? 0).toFixed(1)} (${took.length} frames of ${sent.size})`
}

function command(...args: string[]) {
  return runProgram(args, { NOWNEXT_NATS_URL: nats.url })
}

/** Of the service process, MB. */
function memory(): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kilobytes) / 1024)
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(1)
}
