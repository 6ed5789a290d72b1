// What was said, folded into the bucket `channel` as the projector does it, on a clock of the test's own.
import type { ChannelContext, NowNextEvent, Tracktype } from '../../src/domain/event.ts'
import { initialState } from '../../src/domain/state.ts'
import { ChannelBucket } from '../../src/log/channel-bucket.ts'
import type { LogConnection } from '../../src/log/connection.ts'
import type { Topology } from '../../src/log/topology.ts'
import type { Known } from '../../src/projector/channel-states.ts'
import { foldEvent } from '../../src/projector/values.ts'
import { plainContext, pushEvent, type Told, zeroMs } from './story.ts'

export class FoldedLog {
  readonly #bucket: ChannelBucket
  readonly #incarnation: string
  readonly #known = new Map<string, Known>()
  #events = 0
  #sequence = 0

  readonly #context: ChannelContext

  /** The bucket must be empty. stationkey: of the channels, where nothing else is said. */
  constructor(connection: LogConnection, { incarnation }: Topology, stationkey: string) {
    this.#context = { ...plainContext, stationkey }
    this.#bucket = new ChannelBucket(connection, 'test')
    this.#incarnation = incarnation
  }

  /** Sequence of the last value. */
  get sequence(): number {
    return this.#sequence
  }

  /** A `now` at a second of the story. */
  now(
    channelkey: string,
    at: number,
    text: string,
    told: Told = {},
    context: Partial<ChannelContext> = {},
  ): Promise<void> {
    return this.push('now', channelkey, at, text, told, context)
  }

  push(
    kind: Tracktype,
    channelkey: string,
    at: number,
    text: string,
    told: Told = {},
    context: Partial<ChannelContext> = {},
  ): Promise<void> {
    return this.say(channelkey, at, pushEvent(kind, at, text, told, { ...this.#context, ...context }))
  }

  async say(channelkey: string, at: number, event: NowNextEvent): Promise<void> {
    const known = this.#known.get(channelkey) ?? { state: initialState, sequence: 0 }
    const timeMs = zeroMs + Math.round(at * 1000)
    const logged = { channelkey, sequence: ++this.#events, timeMs, event }
    const folded = foldEvent(known, logged, this.#incarnation, this.#sequence)
    this.#known.set(channelkey, folded.known)
    for (const value of folded.values) await this.#bucket.append(value, this.#sequence++)
  }

  /** Any text as a value. */
  async write(channelkey: string, json: string): Promise<void> {
    await this.#bucket.append({ channelkey, json }, this.#sequence++)
  }
}
