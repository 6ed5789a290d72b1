// Polling: .json, .txt and a 304.
import { Generator, type Phase } from '../harness/generator.ts'
import { alternate, medianOf } from '../harness/measure.ts'
import { type Server, startReference, startService } from '../harness/processes.ts'
import { atLeast, atMost, figure, type Scenario } from '../harness/rows.ts'
import { createWorld, getMessage, keyOf } from '../harness/seed.ts'

// Short turns, many of them: the speed of the cores changes from second to second.
const rounds = 31
const seconds = 0.4
export const connections = 64

export const polls: Scenario = {
  name: 'polls',
  title: 'Polls',
  about:
    '64 connections, each asking again as soon as it is answered. The bare server answers everything with the same ' +
    'status, headers and bytes, as read from the edge.',
  async run(report) {
    const world = await createWorld({ channels: 1_000 })
    const edge = await startService('edge', world.nats.url)
    const json = `/metadata/channel/${keyOf(0)}.json`
    const etag = (await fetch(`http://${edge.address}${json}`)).headers.get('etag') ?? ''
    for (const { name, path, headers } of [
      { name: '.json', path: json, headers: {} },
      { name: '.txt', path: `/metadata/channel/${keyOf(0)}.txt`, headers: {} },
      { name: '304', path: json, headers: { 'If-None-Match': etag } },
    ]) {
      const bare = await startReference('bare-uws', { answer: await answerOf(edge, path, headers) })
      const message = getMessage(path, headers)
      const ours = await poller(edge, message)
      const theirs = await poller(bare, message)
      const { a, b } = await alternate(rounds, ours.measure, theirs.measure)
      const rate = (phases: Phase[]) => medianOf(phases, p => p.answers / p.seconds)
      report(
        atLeast(
          `${name}, polls a second`,
          rate(a) / rate(b),
          0.9,
          `${figure(rate(a))} against ${figure(rate(b))} of bare uWebSockets.js`,
        ),
      )
      const cpu = (phases: Phase[]) => medianOf(phases, p => (p.serverCpu / p.answers) * 1e6)
      const cpus = `${figure(cpu(a))} µs against ${figure(cpu(b))} µs; ${busy(a)}`
      report(atMost(`${name}, CPU per poll`, cpu(a) / cpu(b), 1 / 0.9, cpus))
      ours.stop()
      theirs.stop()
      await bare.stop()
    }
    await edge.stop()
    await world.stop()
  },
}

/** `measure` polls for some seconds, after some of warm-up. */
export async function poller(
  server: Server,
  ...messages: Buffer[]
): Promise<{ measure(): Promise<Phase>; stop(): void }> {
  const generator = new Generator()
  await generator.server(server.pid)
  await generator.messages(messages)
  return {
    async measure() {
      // Open ones would be closed as idle while the other server is measured.
      await generator.wires(server.address, 'http', connections)
      await generator.closed(seconds / 2)
      const phase = await generator.closed(seconds)
      if (phase.errors > 0) throw new Error(`${phase.errors} polls were refused`)
      return phase
    },
    stop: () => generator.stop(),
  }
}

/** What the edge answers, for the bare server to say the same. The library sets Content-Length, Date and its own name by itself. */
async function answerOf({ address }: Server, path: string, headers: Record<string, string>) {
  const answer = await fetch(`http://${address}${path}`, { headers })
  const own = ['content-length', 'date', 'uwebsockets', 'connection', 'keep-alive']
  return {
    status: `${answer.status} ${answer.statusText}`,
    headers: [...answer.headers].filter(([name]) => !own.includes(name)),
    body: answer.status === 200 ? await answer.text() : null,
  }
}

function busy(phases: Phase[]): string {
  const percent = (of: (p: Phase) => number) => Math.round(medianOf(phases, p => of(p) / p.seconds) * 100)
  return `the edge's core ${percent(p => p.serverCpu)} % busy, the generator's share ${percent(p => p.ownCpu)} %`
}
