// From a push to the frames of its listeners, through the whole service.
import { bothCores } from '../harness/cores.ts'
import { Generator, type Phase } from '../harness/generator.ts'
import { medianOf } from '../harness/measure.ts'
import { startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld, pushMessage } from '../harness/seed.ts'

const channels = 200
const perSecond = 1_000
const rounds = 5
const seconds = 10
const warmSeconds = 20

export const pushToFrame: Scenario = {
  name: 'push-to-frame',
  title: 'Push to frame',
  about:
    '1,000 pushes a second over 200 channels with a WebSocket each: from sending the request to reading the frame, on ' +
    'one clock. All roles in one process, and NATS, on both cores, which the generator shares. NATS syncs each write ' +
    'to the disk before its ack, as `nownext serve` embeds it; and, to tell the disk from the rest, every two ' +
    "minutes, as a cluster of three may. The reference in the same run: the answer to the push itself, which waits for the log's ack.",
  async run(report) {
    for (const syncAlways of [true, false]) {
      const phases = await measure(syncAlways)
      const of = (value: (p: Phase) => number) => medianOf(phases, value)
      const how = syncAlways ? 'each write synced' : 'not waiting for the disk'
      const answered = `push to answer: median ${figure(of(p => p.answerMedian))}, 99th percentile ${figure(of(p => p.answerP99))} ms`
      const rounds = phases.map(p => figure(p.median)).join(', ')
      report(
        atMost(
          `push to frame, ${how}, median`,
          of(p => p.median),
          1.5,
          `${answered}; medians of the rounds ${rounds}`,
          'ms',
        ),
      )
      report(
        atMost(
          `push to frame, ${how}, 99th percentile`,
          of(p => p.p99),
          8,
          `most ${figure(of(p => p.max))} ms`,
          'ms',
        ),
      )
      const share = Math.round(of(p => p.serverCpu / p.seconds) * 100)
      report(told('CPU of the service', `${share} % of one core`, 'NATS not counted'))
    }
  },
}

async function measure(syncAlways: boolean): Promise<Phase[]> {
  const world = await createWorld({ channels, tokens: true, shown: false }, { syncAlways, core: bothCores })
  const service = await startService('intake,projector,edge,console', world.nats.url, { core: bothCores })
  const generator = new Generator(bothCores)
  await generator.server(service.pid)
  const edge = new URL(service.addresses.api_url ?? '').host
  await generator.connect({ address: edge, path: '/metadata/channel/bench_%d', count: channels, channels })
  await generator.messages(Array.from({ length: channels }, (_, channel) => pushMessage(channel)))
  await generator.wires(new URL(service.addresses.base_url ?? '').host, 'http', 64)
  await generator.rate(perSecond * warmSeconds, perSecond)
  const phases: Phase[] = []
  for (let round = 0; round < rounds; round++)
    phases.push(await generator.rate(perSecond * seconds, perSecond))
  generator.stop()
  await service.stop()
  await world.stop()
  const lost = phases.reduce((sum, p) => sum + p.expected - p.delivered + p.errors, 0)
  if (lost > 0) throw new Error(`${lost} frames or answers are missing`)
  return phases
}
