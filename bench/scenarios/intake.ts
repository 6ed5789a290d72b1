// Pushes: what one costs the intake, and how many a second are acknowledged.
import { Generator, type Phase } from '../harness/generator.ts'
import { alternate, median, medianOf } from '../harness/measure.ts'
import { type Server, startReference, startService } from '../harness/processes.ts'
import { atLeast, atMost, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld, keyOf, pushMessage } from '../harness/seed.ts'
import type { RawRun } from '../references/raw-publish.ts'

const channels = 1_000
const inFlight = 64
const rounds = 9
const seconds = 3
const warmPushes = 30_000
const warmSeconds = 1

export const intake: Scenario = {
  name: 'intake',
  title: 'Pushes',
  about:
    'GET pushes on 64 kept connections over 1,000 channels, each acknowledged by JetStream under `sync_interval: always`. ' +
    'References: a Fastify as it comes that publishes the same bytes to the same subjects for each request and answers ' +
    'with the same object; the same NATS client publishing them without HTTP, 64 in flight.',
  async run(report) {
    const world = await createWorld({ channels, tokens: true, shown: false }, { syncAlways: true })
    const intake = await startService('intake', world.nats.url)
    const messages = Array.from({ length: channels }, (_, channel) => pushMessage(channel))
    const answer = await (await fetch(`http://${intake.address}${pathOf(messages[0])}`)).json()
    const stored = await world.connection.jsm.streams.getMessage('EVENTS', { last_by_subj: 'event.>' })
    const same = {
      url: world.nats.url,
      payload: Buffer.from(stored?.data ?? []).toString(),
      subjects: Array.from({ length: channels }, (_, channel) => `event.${keyOf(channel)}.now`),
    }
    const bare = await startReference('bare-intake', { ...same, answer })
    const raw = await startReference('raw-publish', { ...same, inFlight })
    const generator = new Generator()
    const push = async (server: Server, seconds: number): Promise<Phase> => {
      await generator.server(server.pid)
      await generator.messages(messages)
      await generator.wires(server.address, 'http', inFlight)
      await generator.closed(warmSeconds)
      return await generator.closed(seconds)
    }
    // Code that has run some tens of thousands of times costs a third of what it costs at first.
    for (const server of [intake, bare])
      for (let warm = 0; warm < warmPushes; ) warm += (await push(server, seconds)).answers
    const appends: RawRun[] = []
    const { a: pushes, b: bares } = await alternate(
      rounds,
      () => push(intake, seconds),
      async () => {
        appends.push(await publishRaw(raw.address))
        return await push(bare, seconds)
      },
    )
    generator.stop()
    const refused = pushes.reduce((sum, { errors }) => sum + errors, 0)
    if (refused > 0) throw new Error(`${refused} pushes were refused`)
    const cost = (phases: Phase[]) => medianOf(phases, p => p.serverCpu / p.answers) * 1e6
    report(
      atMost(
        'CPU per push, of a bare answer with a raw publish',
        cost(pushes) / cost(bares),
        1.3,
        `${figure(cost(pushes))} µs against ${figure(cost(bares))} µs`,
      ),
    )
    const rate = medianOf(pushes, p => p.answers / p.seconds)
    const bareRate = medianOf(bares, p => p.answers / p.seconds)
    const rawRate = median(appends.map(({ acks, seconds }) => acks / seconds))
    report(
      atLeast(
        'acknowledged pushes a second, of raw publishes',
        rate / rawRate,
        0.9,
        `${figure(rate)} against ${figure(rawRate)}; the bare Fastify ${figure(bareRate)}`,
      ),
    )
    const busy = Math.round(medianOf(pushes, p => p.serverCpu / p.seconds) * 100)
    report(
      told(
        'push to answer',
        `median ${figure(medianOf(pushes, p => p.answerMedian))} ms`,
        `the intake's core ${busy} % busy`,
      ),
    )
    await intake.stop()
    await bare.stop()
    await raw.stop()
    await world.stop()
  },
}

async function publishRaw(address: string): Promise<RawRun> {
  const run = async (seconds: number) =>
    (await (await fetch(`http://${address}/${seconds}`)).json()) as RawRun
  await run(seconds / 2)
  return await run(seconds)
}

function pathOf(message: Buffer | undefined): string {
  return String(message).split(' ')[1] ?? '/'
}
