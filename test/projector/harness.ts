// Projectors on a real nats-server, each with a connection of its own, as separate processes would have.
import type { TestContext } from 'node:test'
import type { NowNextEvent } from '../../src/domain/event.ts'
import { EventLog } from '../../src/log/event-log.ts'
import type { Logger } from '../../src/observe/log.ts'
import { Projector } from '../../src/projector/projector.ts'
import { metricOf, openLog, type TestLog, testLogger, until } from '../helpers/log.ts'
import { startNats, type TestNats } from '../helpers/nats.ts'

export type RunningProjector = TestLog & {
  projector: Projector
  isActive(): Promise<boolean>
  /** As a kill would: nothing is finished, nothing given back. */
  kill(): Promise<void>
}

export type World = {
  nats: TestNats
  log: TestLog
  events: EventLog
  /** Appends; resolves to the sequence in EVENTS. */
  say(channelkey: string, event: NowNextEvent): Promise<number>
  startProjector(log?: Logger): Promise<RunningProjector>
  /** Resolves when every event up to here is folded and acknowledged. */
  folded(sequence: number): Promise<void>
  /** How many values the bucket holds. */
  values(): Promise<number>
}

export async function createWorld(context: TestContext): Promise<World> {
  const nats = await startNats()
  const log = await openLog(nats.url)
  const events = new EventLog(log.connection, log.metrics)
  const running: RunningProjector[] = []
  let said = 0
  context.after(async () => {
    await Promise.all(running.map(({ kill }) => kill()))
    await log.connection.close()
    await nats.stop()
  })
  const { jsm } = log.connection
  return {
    nats,
    log,
    events,
    async say(channelkey, event) {
      return (await events.append(channelkey, event, `said-${said++}`, 20_000)).sequence
    },
    async startProjector(log = testLogger) {
      const own = await openLog(nats.url)
      const projector = new Projector({ ...own, log })
      const kill = async () => {
        await projector.stop()
        await own.connection.close()
      }
      const entry = {
        ...own,
        projector,
        kill,
        isActive: async () => (await metricOf(own.metrics.projectorActive)) === 1,
      }
      running.push(entry)
      await projector.start()
      return entry
    },
    async folded(sequence) {
      await until(`event ${sequence} folded`, async () => {
        return (await jsm.consumers.info('EVENTS', 'projector')).ack_floor.stream_seq >= sequence
      })
    },
    async values() {
      return (await jsm.streams.info('KV_channel')).state.messages
    },
  }
}
