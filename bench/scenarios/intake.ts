// Pushes: what one costs the intake, and how many a second are acknowledged.
import { Generator, type Phase } from '../harness/generator.ts'
import { median, medianOf } from '../harness/measure.ts'
import { startReference, startService } from '../harness/processes.ts'
import { atLeast, atMost, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld, getMessage, keyOf, pushMessage } from '../harness/seed.ts'
import type { RawRun } from '../references/raw-publish.ts'

const channels = 1_000
const inFlight = 64
const rounds = 5
const seconds = 3
const warmPushes = 30_000

export const intake: Scenario = {
  name: 'intake',
  title: 'Pushes',
  about:
    'GET pushes on 64 kept connections over 1,000 channels, each acknowledged by JetStream under `sync_interval: always`. ' +
    'References: a Fastify that answers the same object to everything; the same NATS client publishing the same bytes to ' +
    'the same subjects, 64 in flight.',
  async run(report) {
    const world = await createWorld({ channels, tokens: true, shown: false }, { syncAlways: true })
    const intake = await startService('intake', world.nats.url)
    const messages = Array.from({ length: channels }, (_, channel) => pushMessage(channel))
    const answer = await (await fetch(`http://${intake.address}${pathOf(messages[0])}`)).json()
    const stored = await world.connection.jsm.streams.getMessage('EVENTS', { last_by_subj: 'event.>' })
    const fastify = await startReference('bare-fastify', answer as object)
    const raw = await startReference('raw-publish', {
      url: world.nats.url,
      payload: Buffer.from(stored?.data ?? []).toString(),
      inFlight,
      subjects: Array.from({ length: channels }, (_, channel) => `event.${keyOf(channel)}.now`),
    })
    const generator = new Generator()
    // Code that has run some tens of thousands of times costs a third of what it costs at first.
    await generator.server(intake.pid)
    await generator.messages(messages)
    await generator.wires(intake.address, 'http', inFlight)
    for (let warm = 0; warm < warmPushes; ) warm += (await generator.closed(seconds)).answers
    const pushes: Phase[] = []
    const answers: Phase[] = []
    const appends: RawRun[] = []
    for (let round = 0; round < rounds; round++) {
      await generator.server(intake.pid)
      await generator.messages(messages)
      await generator.wires(intake.address, 'http', inFlight)
      await generator.closed(seconds / 2)
      pushes.push(await generator.closed(seconds))
      appends.push(await publishRaw(raw.address))
      await generator.server(fastify.pid)
      await generator.messages([getMessage('/answer')])
      await generator.wires(fastify.address, 'http', inFlight)
      await generator.closed(seconds / 4)
      answers.push(await generator.closed(seconds / 2))
    }
    generator.stop()
    const refused = pushes.reduce((sum, { errors }) => sum + errors, 0)
    if (refused > 0) throw new Error(`${refused} pushes were refused`)
    const push = medianOf(pushes, p => p.serverCpu / p.answers) * 1e6
    const bareAnswer = medianOf(answers, p => p.serverCpu / p.answers) * 1e6
    const bareAppend = medianOf(appends, ({ cpu, acks }) => cpu / acks) * 1e6
    const parts = `${figure(push)} µs against ${figure(bareAnswer)} + ${figure(bareAppend)} µs`
    report(
      atMost(
        'CPU per push, of a bare answer and a raw publish',
        push / (bareAnswer + bareAppend),
        1.3,
        parts,
      ),
    )
    const rate = medianOf(pushes, p => p.answers / p.seconds)
    const rawRate = median(appends.map(({ acks, seconds }) => acks / seconds))
    report(
      atLeast(
        'acknowledged pushes a second, of raw publishes',
        rate / rawRate,
        0.9,
        `${figure(rate)} against ${figure(rawRate)}`,
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
    await fastify.stop()
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
