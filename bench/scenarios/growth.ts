// What more channels cost: per delivery, per poll, per push.
import { Generator } from '../harness/generator.ts'
import { median } from '../harness/measure.ts'
import { startService } from '../harness/processes.ts'
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
const rounds = 3

export const growth: Scenario = {
  name: 'growth',
  title: 'Growth with the number of channels',
  about:
    '100 to 100,000 channels with now and next. Deliveries: 1,000 WebSockets on 100 of them, which change in turn. Polls ' +
    'and pushes go round all channels. CPU of the process, in µs; the figure is the highest over the lowest.',
  async run(report) {
    const found: { delivery: number; poll: number; push: number }[] = []
    for (const channels of sizes) {
      const world = await createWorld({ channels, tokens: true })
      const ofEdge = await measureEdge(world, channels)
      found.push({ ...ofEdge, push: await measureIntake(world, channels) })
      await world.stop()
    }
    for (const name of ['delivery', 'poll', 'push'] as const) {
      const list = found.map(each => each[name])
      const from = sizes
        .map((size, at) => `${size.toLocaleString('en')}: ${figure(list[at] ?? 0)}`)
        .join(', ')
      // Within a quarter of the middle, up and down.
      report(atMost(`CPU per ${name}`, Math.max(...list) / Math.min(...list), 1.25 / 0.75, `µs at ${from}`))
    }
  },
}

async function measureEdge(world: World, channels: number): Promise<{ delivery: number; poll: number }> {
  const edge = await startService('edge', world.nats.url)
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
  const deliveries: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { serverCpu, delivered } = await generator.lock(1_000)
    deliveries.push((serverCpu / delivered) * 1e6)
  }
  await generator.messages(
    Array.from({ length: channels }, (_, channel) => getMessage(`/metadata/channel/${keyOf(channel)}.json`)),
  )
  await generator.wires(edge.address, 'http', connections)
  // Once around, so that every answer is made.
  await generator.closed(1 + channels / 20_000)
  const polls: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { serverCpu, answers } = await generator.closed(1)
    polls.push((serverCpu / answers) * 1e6)
  }
  generator.stop()
  await edge.stop()
  return { delivery: median(deliveries), poll: median(polls) }
}

async function measureIntake(world: World, channels: number): Promise<number> {
  const intake = await startService('intake', world.nats.url)
  const generator = new Generator()
  await generator.server(intake.pid)
  await generator.messages(Array.from({ length: channels }, (_, channel) => pushMessage(channel)))
  await generator.wires(intake.address, 'http', 64)
  await generator.closed(4)
  const pushes: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { serverCpu, answers } = await generator.closed(2)
    pushes.push((serverCpu / answers) * 1e6)
  }
  generator.stop()
  await intake.stop()
  return median(pushes)
}
