// An edge's start with many channels.
import { median } from '../harness/measure.ts'
import { startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario, told } from '../harness/rows.ts'
import { createWorld } from '../harness/seed.ts'

const channels = 100_000
/** What an edge takes whatever its channels. */
const fewChannels = 100
const rounds = 3

export const start: Scenario = {
  name: 'start',
  title: 'Start of an edge',
  about:
    '100,000 channels with now and next in the log. From the start of the process to ready, at which it has read what is ' +
    'shown, and reads the registry behind that; memory at its highest until then. No certificates of the system are read.',
  async run(report) {
    const small = await createWorld({ channels: fewChannels })
    const alone = await startService('edge', small.nats.url)
    await alone.collect()
    const memory = alone.memory()
    await alone.stop()
    await small.stop()
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
    const collected = `${figure(median(after))} MB later, with the registry read and garbage collected`
    report(atMost('memory at its highest', median(peaks), 400, collected, 'MB'))
    const few = `${figure(memory.rss / 1024)} MB`
    const base = `${figure(memory.peak / 1024)} MB at its highest`
    report(told(`memory with ${fewChannels} channels, garbage collected`, few, base))
    await world.stop()
  },
}
