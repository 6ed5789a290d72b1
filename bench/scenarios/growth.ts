// What more channels cost: per delivery, per poll, per push.
import { Generator } from '../harness/generator.ts'
import { medianOf } from '../harness/measure.ts'
import { type Server, startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario } from '../harness/rows.ts'
import {
  createWorld,
  getMessage,
  keyOf,
  natsMessage,
  newSong,
  pushMessage,
  type World,
} from '../harness/seed.ts'
import { connections } from './polls.ts'

const sizes = [100, 1_000, 10_000, 100_000]
const audienceChannels = 100
const audience = 1_000
const rounds = 7

/** What is measured of one size, µs of CPU. */
type Costs = { delivery: number; poll: number; push: number }

export const growth: Scenario = {
  name: 'growth',
  title: 'Growth with the number of channels',
  about:
    '100 to 100,000 channels with now and next, all four sizes up at once and measured in turn, seven times; every edge and intake is on the same core, and idle while it is the turn of another. Deliveries: 1,0 WebSockets ' +
    'on 100 of them, which change in turn. Polls and pushes go round all channels. CPU of the process, in µs; the figure is the highest over the lowest.',
  async run(report) {
    const grown = []
    for (const channels of sizes) grown.push({ size: await grow(channels), costs: [] as Costs[] })
    for (let round = 0; round < rounds; round++)
      for (const { size, costs } of [
        ...grown.slice(round % grown.length),
        ...grown.slice(0, round % grown.length),
      ])
        costs.push(await size.measure())
    for (const { size } of grown) await size.stop()
    for (const name of ['delivery', 'poll', 'push'] as const) {
      const list = grown.map(({ costs }) => medianOf(costs, each => each[name]))
      const from = sizes
        .map((size, at) => `${size.toLocaleString('en')}: ${figure(list[at] ?? 0)}`)
        .join(', ')
      // Within a quarter of the middle, up and down.
      report(atMost(`CPU per ${name}`, Math.max(...list) / Math.min(...list), 1.25 / 0.75, `µs at ${from}`))
    }
  },
}

/** An edge and an intake with this many channels, warm. */
async function grow(channels: number): Promise<{ measure(): Promise<Costs>; stop(): Promise<void> }> {
  const world = await createWorld({ channels, tokens: true })
  const edge = await startService('edge', world.nats.url)
  const intake = await startService('intake', world.nats.url)
  const publisher = await audienceOf(edge, world, channels)
  const each = (message: (channel: number) => Buffer) =>
    Array.from({ length: channels }, (_, channel) => message(channel))
  const polls = await asker(
    edge,
    each(channel => getMessage(`/metadata/channel/${keyOf(channel)}.json`)),
  )
  const pushes = await asker(intake, each(pushMessage))
  // Once around, so that every answer is made.
  await polls.ask(1 + channels / 20_000)
  await pushes.ask(4)
  return {
    async measure() {
      const { serverCpu, delivered } = await publisher.lock(2_000)
      return { delivery: (serverCpu / delivered) * 1e6, poll: await polls.ask(1), push: await pushes.ask(2) }
    },
    async stop() {
      publisher.stop()
      polls.stop()
      pushes.stop()
      await edge.stop()
      await intake.stop()
      await world.stop()
    },
  }
}

/** A generator with the WebSockets connected, which publishes to their channels. */
async function audienceOf(edge: Server, world: World, channels: number): Promise<Generator> {
  const generator = new Generator()
  await generator.server(edge.pid)
  await generator.connect({
    address: edge.address,
    path: '/metadata/channel/bench_%d',
    count: audience,
    channels: audienceChannels,
  })
  const stations = Math.ceil(channels / 4)
  await generator.messages(
    Array.from({ length: audienceChannels }, (_, channel) =>
      natsMessage(channel, newSong(channel, stations, world.topology, channels + channel)),
    ),
  )
  await generator.wires(world.address, 'nats')
  await generator.lock(3_000)
  return generator
}

/** Asks a server over and over; `ask` resolves to the µs of CPU that an answer takes. */
async function asker(
  server: Server,
  messages: Buffer[],
): Promise<{ ask(seconds: number): Promise<number>; stop(): void }> {
  const generator = new Generator()
  await generator.server(server.pid)
  await generator.messages(messages)
  return {
    async ask(seconds) {
      // Open ones would be closed as idle while the other sizes are measured.
      await generator.wires(server.address, 'http', connections)
      const { serverCpu, answers } = await generator.closed(seconds)
      return (serverCpu / answers) * 1e6
    },
    stop: () => generator.stop(),
  }
}
