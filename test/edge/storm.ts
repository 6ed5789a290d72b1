// Many players that come back at the same time, to one edge (rule 25).
import { WebSocket } from 'ws'
import type { TestEdge, World } from './world.ts'

export type Storm = {
  resumes: number
  /** Channels a, b and c take part; each has shown so many records. */
  records: number
  /** Without a position they just get the current state: what a storm costs anyway. */
  afterPosition?: boolean
}

export type StormResult = {
  /** Until all sockets were open, and until each had what it had missed. */
  openMs: number
  servedMs: number
  /** Processor time of this process meanwhile, the players' share included. */
  cpuMs: number
  /** Records that were wrong or missing; should be 0. */
  wrong: number
}

const channels = ['a', 'b', 'c'] as const

/** Shows the records; resolves to the positions of each channel. */
export async function showForStorm(
  world: World,
  { records }: Pick<Storm, 'records'>,
): Promise<Map<string, string[]>> {
  const positions = new Map<string, string[]>(channels.map(key => [key, []]))
  for (let number = 0; number < records; number++)
    for (const key of channels)
      positions.get(key)?.push((await world.show(key, { song: `${number}` }, null, ['now'])).now.position)
  return positions
}

/** Opens all sockets at once, each at some position, and waits until each has got exactly what came after that. */
export async function runStorm(
  { url }: TestEdge,
  positions: Map<string, string[]>,
  { resumes, records, afterPosition = true }: Storm,
): Promise<StormResult> {
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  let [openMs, wrong] = [0, 0]
  const sockets: WebSocket[] = []
  await Promise.all(
    Array.from({ length: resumes }, (_, index) => {
      const key = channels[index % channels.length] ?? 'a'
      const place = afterPosition ? Math.floor(Math.random() * (records - 1)) : records - 2
      const query = afterPosition ? `?after=${positions.get(key)?.[place]}` : ''
      const ws = new WebSocket(`${url.replace('http', 'ws')}/metadata/channel/${key}${query}`)
      sockets.push(ws)
      ws.on('open', () => {
        openMs = performance.now() - startMs
      })
      return new Promise<void>((served, failed) => {
        let expected = place + 1
        ws.on('error', failed)
        ws.on('message', data => {
          if (JSON.parse(String(data)).song !== String(expected)) wrong++
          if (++expected === records) served()
        })
      })
    }),
  )
  const servedMs = performance.now() - startMs
  const { user, system } = process.cpuUsage(startCpu)
  for (const ws of sockets) ws.terminate()
  return { openMs, servedMs, cpuMs: (user + system) / 1_000, wrong }
}
