// The proof of rule 25 on a running service: pushes as fast as they are let in, while players connect, are cut at random
// moments and resume, on this edge or that one; then what each received is compared with what was shown.
import { setTimeout as sleep } from 'node:timers/promises'
import { CutClient } from './cut-client.ts'
import { startNats } from './nats.ts'
import { startService, type TestService } from './service.ts'
import { type Comparison, compare, readShown } from './shown.ts'

export type CutsOptions = {
  clients: number
  seconds: number
  channels: number
  /** Pushes a second, of all channels. */
  rate: number
  /** The run goes on, however slow the machine, until there were so many of both. */
  leastPushes: number
  leastCuts: number
  /** The log is restarted, and an edge killed with -9, in the middle. */
  faults: boolean
}

export type CutsResult = Comparison & {
  pushes: number
  shown: number
  cuts: number
  gaps: number
  refused: number
  logReads: number
}

/** A run of at least this has the time to start a second edge again. */
const longSeconds = 15

export async function runCuts(options: CutsOptions): Promise<CutsResult> {
  const { clients: clientCount, seconds, faults } = options
  const nats = await startNats()
  const services: TestService[] = []
  try {
    const first = await startService({ natsUrl: nats.url, env: { NOWNEXT_PUSH_RATE: '1000' } })
    services.push(first)
    const second = await startService({ natsUrl: nats.url, roles: 'edge' })
    services.push(second)
    const channels = await makeChannels(first, options.channels)
    const edges = [first.apiUrl, second.apiUrl]
    const clients = Array.from({ length: clientCount }, (_, index) => {
      const transport = index % 2 === 0 ? 'ws' : 'sse'
      const isStation = index % 4 === 3
      const key = isStation ? 'cuts' : (channels[index % channels.length]?.key ?? '')
      return new CutClient({ edges: () => edges, transport, scope: isStation ? 'station' : 'channel', key })
    })
    const sum = (of: (index: number) => number) => clients.reduce((total, _, index) => total + of(index), 0)
    for (const client of clients) client.connect()
    await until(async () => (await openCount(first)) + (await openCount(second)) === clientCount)
    const cutting = cutAtRandom(clients)
    let isOver = false
    let pushes = 0
    const pushing = pushAll(
      first,
      channels,
      options.rate,
      () => isOver,
      () => pushes++,
    )
    const enough = sleep(seconds * 1_000)
    if (faults) await runFaults(nats, seconds, second, edges, services)
    await enough
    const cuts = () => sum(index => clients[index]?.cuts ?? 0)
    await until(async () => pushes >= options.leastPushes && cuts() >= options.leastCuts)
    isOver = true
    await pushing
    cutting.stop()
    const shown = await readShown(nats.url)
    const ofClient = ({ options: { scope, key } }: CutClient) =>
      shown.filter(({ channelkey, stationkey }) => (scope === 'channel' ? channelkey : stationkey) === key)
    const isDone = () => clients.every(client => client.lastPosition === ofClient(client).at(-1)?.position)
    const endMs = performance.now() + 20_000
    while (!isDone() && performance.now() < endMs) await sleep(50)
    for (const client of clients) client.stop()
    const comparisons = clients.map(client => compare(ofClient(client), client.received))
    const compared = (name: keyof Comparison) => sum(index => comparisons[index]?.[name] ?? 0)
    return {
      pushes,
      shown: shown.length,
      cuts: cuts(),
      gaps: sum(index => clients[index]?.gaps ?? 0),
      refused: sum(index => clients[index]?.refused ?? 0),
      logReads: (
        await Promise.all(services.map(service => metric(service, 'nownext_edge_log_reads_total')))
      ).reduce((total, reads) => total + reads, 0),
      records: compared('records'),
      missing: compared('missing'),
      doubles: compared('doubles'),
      stepsBack: compared('stepsBack'),
      others: compared('others'),
    }
  } finally {
    for (const service of services.reverse()) await service.stop()
    await nats.stop()
  }
}

/** The log restarts; the second edge is killed, and comes again with an empty memory. */
async function runFaults(
  nats: Awaited<ReturnType<typeof startNats>>,
  seconds: number,
  second: TestService,
  edges: string[],
  services: TestService[],
): Promise<void> {
  await sleep(seconds * 300)
  await nats.restart()
  await sleep(seconds * 300)
  edges.splice(edges.indexOf(second.apiUrl), 1)
  await second.kill()
  services.splice(services.indexOf(second), 1)
  if (seconds < longSeconds) return
  const again = await startService({ natsUrl: nats.url, roles: 'edge' })
  services.push(again)
  edges.push(again.apiUrl)
}

type PushChannel = { key: string; token: string }

async function makeChannels(service: TestService, count: number): Promise<PushChannel[]> {
  await service.admin('PUT', '/stations/cuts', { name: 'Cuts' })
  const channels: PushChannel[] = []
  for (let index = 0; index < count; index++) {
    const key = `cut_${index}`
    const { body } = await service.admin('PUT', `/channels/${key}`, { station: 'cuts', name: key })
    channels.push({ key, token: body.token })
  }
  return channels
}

/** Pushes until it is over, and tells of each that was stored. Of each three: a next, the now that it becomes, another now. */
async function pushAll(
  service: TestService,
  channels: PushChannel[],
  rate: number,
  isOver: () => boolean,
  pushed: () => void,
): Promise<void> {
  const pauseMs = (channels.length / rate) * 1_000
  await Promise.all(
    channels.map(async ({ key, token }) => {
      let dueMs = performance.now()
      for (let number = 0; !isOver(); number++) {
        const body = {
          song: `Song ${number % 3 === 1 ? number - 1 : number}`,
          artist: key,
          duration: 180,
          tracktype: number % 3 === 0 ? 'next' : 'now',
        }
        while (!(await push(`${service.baseUrl}/metapush/${key}/${token}`, body, `n${number}`)))
          await sleep(50)
        pushed()
        dueMs += pauseMs
        await sleep(Math.max(0, dueMs - performance.now()))
      }
    }),
  )
}

async function push(url: string, body: object, idempotencyKey: string): Promise<boolean> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
  return answer.status === 200
}

/** About one cut per client and second, at any moment. */
function cutAtRandom(clients: CutClient[]): { stop(): void } {
  const timer = setInterval(() => {
    for (const client of clients) if (Math.random() < 0.02) client.cut(Math.random() * 300)
  }, 20)
  return { stop: () => clearInterval(timer) }
}

async function openCount(service: TestService): Promise<number> {
  return (await metric(service, 'nownext_edge_sockets')) + (await metric(service, 'nownext_edge_streams'))
}

async function metric(service: TestService, name: string): Promise<number> {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20)
}
