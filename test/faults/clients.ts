// The process of the clients, seen from here.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ClientEvent, ClientsOptions } from './clients-process.ts'

const script = fileURLToPath(new URL('clients-process.ts', import.meta.url))

export class Clients {
  readonly count: number
  readonly channelOf: (client: number) => string
  readonly #child: ChildProcess

  constructor(options: ClientsOptions) {
    this.count = options.count
    this.channelOf = client => options.channelkeys[client % options.channelkeys.length] ?? ''
    this.#child = fork(script, { execArgv: ['--import', 'tsx'], serialization: 'advanced' })
    this.#child.send({ start: options })
  }

  /** What happened since the last call. */
  async take(): Promise<ClientEvent[]> {
    this.#child.send({ take: true })
    const [{ events }] = await once(this.#child, 'message')
    return events
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}
