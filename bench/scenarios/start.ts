// An edge's start with many channels.
import { median } from '../harness/measure.ts'
import { startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario } from '../harness/rows.ts'
import { createWorld } from '../harness/seed.ts'

const channels = 100_000
const rounds = 3

export const start: Scenario = {
  name: 'start',
  title: 'Start of an edge',
  about:
    '100,000 channels with now and next in the log. From the start of the process to ready; memory at its highest.',
  async run(report) {
    const world = await createWorld({ channels })
    const seconds: number[] = []
    const peaks: number[] = []
    const after: number[] = []
    for (let round = 0; round < rounds; round++) {
      const edge = await startService('edge', world.nats.url)
      seconds.push(edge.readyAfter)
      peaks.push(edge.memory().peak / 1024)
      await edge.collect()
      after.push(edge.memory().rss / 1024)
      await edge.stop()
    }
    const all = seconds.map(figure).join(', ')
    report(atMost('ready', median(seconds), 2.5, `${rounds} starts: ${all} s`, 's'))
    const collected = `${figure(median(after))} MB once garbage is collected`
    report(atMost('memory at its highest', median(peaks), 400, collected, 'MB'))
    await world.stop()
  },
}
