// Pushes at a steady rate to one channel and its listener, while something else goes on.
import { WebSocket } from 'ws'
import type { ServiceServer } from './processes.ts'
import { figure } from './rows.ts'

const pushesPerSecond = 20
const channelkey = 'bench_live'
/** How long the last frames are waited for. */
const restMs = 1_000

export class Live {
  readonly #service: ServiceServer
  readonly #socket: WebSocket
  readonly #token: string
  readonly #sent = new Map<string, number>()
  #took: number[] = []
  #number = 0

  private constructor(service: ServiceServer, socket: WebSocket, token: string) {
    this.#service = service
    this.#socket = socket
    this.#token = token
    socket.on('message', data => {
      const startedMs = this.#sent.get(JSON.parse(String(data)).id)
      if (startedMs !== undefined) this.#took.push(performance.now() - startedMs)
    })
  }

  /** Makes the channel, and a player of it. */
  static async start(service: ServiceServer, stationkey: string): Promise<Live> {
    await put(service, `/stations/${stationkey}`, { name: 'Bench' })
    const { token = '' } = await put(service, `/channels/${channelkey}`, {
      station: stationkey,
      name: 'Live',
    })
    const socket = new WebSocket(`${service.addresses.api_ws_url}/metadata/channel/${channelkey}`)
    await new Promise((resolve, reject) => {
      socket.once('open', resolve).once('error', reject)
    })
    return new Live(service, socket, token)
  }

  put(path: string, body: object): Promise<{ token?: string }> {
    return put(this.#service, path, body)
  }

  /** The times from push to frame until something is done: the median, and the rest in words. Throws where a frame is missing. */
  async during(until: Promise<unknown>): Promise<[median: string, more: string]> {
    let more = true
    void until.finally(() => {
      more = false
    })
    this.#sent.clear()
    this.#took = []
    while (more) {
      const id = `live-${this.#number++}`
      this.#sent.set(id, performance.now())
      const url = `${this.#service.addresses.base_url}/metapush/${channelkey}/${this.#token}?song=${id}&artist=A&id=${id}`
      await Promise.all([fetch(url), new Promise(resolve => setTimeout(resolve, 1000 / pushesPerSecond))])
    }
    await new Promise(resolve => setTimeout(resolve, restMs))
    if (this.#took.length !== this.#sent.size)
      throw new Error(`${this.#took.length} frames of ${this.#sent.size} pushes`)
    const took = this.#took.sort((a, b) => a - b)
    const at = (part: number) => figure(took[Math.floor(took.length * part)] ?? Number.NaN)
    return [
      `median ${at(0.5)} ms`,
      `95 % within ${at(0.95)}, 99 % within ${at(0.99)} ms, most ${figure(took.at(-1) ?? Number.NaN)} ms of ${took.length}`,
    ]
  }

  stop(): void {
    this.#socket.terminate()
  }
}

async function put(service: ServiceServer, path: string, body: object): Promise<{ token?: string }> {
  const answer = await fetch(`${service.addresses.console_url}/api${path}`, {
    method: 'PUT',
    headers: { Authorization: 'Bearer admin-token-of-the-bench', 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { token?: string }
}
