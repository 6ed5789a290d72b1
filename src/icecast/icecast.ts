// The role icecast: the title of each channel into the streams of its mounts (rule 31).
import { type Mount, mountId } from '../domain/mount.ts'
import { decodeRecord } from '../domain/record.ts'
import { readValue } from '../domain/value.ts'
import { type ChannelUpdate, watchChannels } from '../log/channel-watch.ts'
import { type LogConnection, messageOf } from '../log/connection.ts'
import type { Mounts } from '../log/mounts.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Service } from '../observe/service.ts'
import { type Connections, createConnections, MountClient } from './client.ts'
import { MountStates } from './mount-states.ts'
import { defaultPace, MountSender, type Pace } from './sender.ts'
import { titleOf } from './title.ts'

export type IcecastOptions = {
  connection: LogConnection
  /** Started already. */
  mounts: Mounts
  metrics: Metrics
  log: Logger
  pace?: Pace
  /** How long a server may take for an answer; default 5 s. */
  timeoutMs?: number
}

type Sending = { mount: Mount; sender: MountSender }

/** Any number of these may run: a title that is given twice is the same title. */
export class Icecast implements Service {
  readonly id = 'icecast'
  readonly #options: IcecastOptions
  readonly #states: MountStates
  readonly #connections: Connections
  /** The current title of every channel, since its mounts may come later. */
  readonly #titles = new Map<string, string>()
  readonly #sending = new Map<string, Map<string, Sending>>()
  #watch: { stop(): Promise<void> } | undefined
  #unlisten: (() => void) | undefined
  #caughtUp = false

  constructor(options: IcecastOptions) {
    this.#options = options
    this.#connections = createConnections(options.metrics)
    this.#states = new MountStates(options.mounts, options.metrics, options.log)
  }

  async start(): Promise<void> {
    const { connection, mounts } = this.#options
    this.#unlisten = mounts.listen((channelkey, changed) => this.#configure(channelkey, changed))
    for (const [channelkey, known] of mounts.channels()) this.#configure(channelkey, known)
    this.#watch = await watchChannels(connection, {
      update: update => this.#take(update),
      caughtUp: () => {
        this.#caughtUp = true
      },
    })
  }

  unready(): string | null {
    return this.#caughtUp ? null : 'icecast: the channels are not read yet'
  }

  /** What is shown last is left to the streams. */
  async drain(): Promise<void> {
    this.#unlisten?.()
    await this.#watch?.stop()
  }

  async stop(): Promise<void> {
    await this.drain()
    for (const sendings of this.#sending.values()) {
      for (const { sender } of sendings.values()) sender.stop()
    }
    this.#sending.clear()
    await this.#states.stop()
  }

  #take({ channelkey, value }: ChannelUpdate): void {
    if (value === null) {
      this.#titles.delete(channelkey)
      return
    }
    try {
      const { nowJson, send } = readValue(value.toString())
      if (nowJson === null) return
      const title = titleOf(decodeRecord(nowJson))
      // A new play of the same text is sent too: something else may have written to the stream meanwhile.
      const isNew = send.includes('now') || title !== this.#titles.get(channelkey)
      this.#titles.set(channelkey, title)
      if (!isNew) return
      for (const { sender } of this.#sending.get(channelkey)?.values() ?? []) sender.show(title)
    } catch (error) {
      this.#options.metrics.icecastSkipped.inc()
      this.#options.log.error({ channelkey, error: messageOf(error) }, 'icecast: a value cannot be read')
    }
  }

  /** Mounts that stay as they are keep their sender, and what it knows. */
  #configure(channelkey: string, mounts: readonly Mount[]): void {
    this.#states.configure(channelkey, mounts)
    const before = this.#sending.get(channelkey) ?? new Map<string, Sending>()
    const after = new Map<string, Sending>()
    for (const mount of mounts) {
      const known = before.get(mountId(mount))
      const same = known !== undefined && JSON.stringify(known.mount) === JSON.stringify(mount)
      after.set(mountId(mount), same ? known : this.#begin(channelkey, mount))
    }
    for (const [id, sending] of before) if (after.get(id) !== sending) sending.sender.stop()
    if (after.size === 0) this.#sending.delete(channelkey)
    else this.#sending.set(channelkey, after)
  }

  #begin(channelkey: string, mount: Mount): Sending {
    const { metrics, pace = defaultPace, timeoutMs = 5_000 } = this.#options
    const client = new MountClient(mount, this.#connections, timeoutMs)
    const listener = {
      taken: (title: string) => this.#states.taken(channelkey, mount, title),
      failed: (reason: string) => this.#states.failed(channelkey, mount, reason),
      sourceChanged: () => metrics.icecastSourceChanges.inc(),
    }
    const sender = new MountSender(client, listener, pace)
    const title = this.#titles.get(channelkey)
    if (title !== undefined) sender.show(title)
    return { mount, sender }
  }
}
