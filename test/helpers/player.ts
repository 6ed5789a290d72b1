// A player's WebSocket in a test.
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { until } from './log.ts'

export type Shown = Record<string, unknown>

/** A client and all that it received. */
export class Player {
  readonly ws: WebSocket
  readonly records: Shown[] = []

  private constructor(url: string) {
    this.ws = new WebSocket(url)
    this.ws.on('message', data => this.records.push(JSON.parse(String(data))))
  }

  /** Resolves once it is connected. */
  static async open(url: string): Promise<Player> {
    const player = new Player(url)
    await once(player.ws, 'open')
    return player
  }

  /** What it received, as `type song`. */
  get songs(): string[] {
    return this.records.map(record => `${record['type']} ${record['song']}`)
  }

  /** Resolves once this is the last that it received. */
  async sees(song: string, timeoutMs?: number): Promise<Shown> {
    await until(`the player sees ${song}, not ${this.songs}`, () => this.songs.at(-1) === song, timeoutMs)
    return this.records.at(-1) ?? {}
  }
}
