// A station's WebSocket while all its channels change at once, and a single change.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Generator, type Phase } from '../harness/generator.ts'
import { alternate, median, medianOf } from '../harness/measure.ts'
import { startService } from '../harness/processes.ts'
import { atMost, figure, type Scenario } from '../harness/rows.ts'
import { createWorld, keyOf, natsMessage, newSong, stationOf } from '../harness/seed.ts'

const channels = 50
/** 50 changes within 5 ms. */
const perSecond = 10_000
const audiences = [1, 100]
const rounds = 20
const singleRounds = 11

export const station: Scenario = {
  name: 'station',
  title: 'A station that changes at once',
  about:
    '50 channels of one station change within 5 ms, 20 times, after 100 times of warm-up. Writes are counted in the ' +
    "edge's process by a preloaded library (`bench/generator/count-writes.c`), which slows nothing down. A single " +
    'change on the station is compared with one on a channel, eleven times in turn: nothing is held back to be sent together.',
  async run(report) {
    const world = await createWorld({ channels, stations: 1 })
    const { library, file } = compile()
    const env = { LD_PRELOAD: library, COUNT_WRITES: file }
    const edge = await startService('edge', world.nats.url, { env })
    const changes = Array.from({ length: channels }, (_, channel) =>
      natsMessage(channel, newSong(channel, 1, world.topology, channel + 51)),
    )
    for (const clients of audiences) {
      const generator = new Generator()
      await generator.server(edge.pid)
      const path = `/metadata/station/${stationOf(0, 1)}`
      await generator.connect({ address: edge.address, path, count: clients })
      await generator.messages(changes)
      await generator.wires(world.address, 'nats')
      for (let round = 0; round < 100; round++) await generator.rate(channels, perSecond)
      const writes: number[] = []
      const phases: Phase[] = []
      for (let round = 0; round < rounds; round++) {
        const before = readFileSync(file).readBigUInt64LE(0)
        const phase = await generator.rate(channels, perSecond)
        if (phase.delivered !== phase.expected) throw new Error('deliveries are missing')
        phases.push(phase)
        writes.push(Number(readFileSync(file).readBigUInt64LE(0) - before) / phase.delivered)
      }
      generator.stop()
      const last = `all there ${figure(medianOf(phases, p => p.seconds * 1000))} ms after the first was sent`
      report(atMost(`writes per message, ${clients} WebSockets`, median(writes), 0.99, last, ''))
    }
    const single = async (path: string): Promise<number> => {
      const generator = new Generator()
      await generator.connect({ address: edge.address, path, count: 1 })
      await generator.messages(changes.slice(0, 1))
      await generator.wires(world.address, 'nats')
      await generator.lock(100)
      const { median } = await generator.lock(300)
      generator.stop()
      return median
    }
    const { a, b } = await alternate(
      singleRounds,
      () => single(`/metadata/station/${stationOf(0, 1)}`),
      () => single(`/metadata/channel/${keyOf(0)}`),
    )
    const [ofStation, ofChannel] = [median(a), median(b)]
    const from = `${figure(ofStation)} ms against ${figure(ofChannel)} ms, from publishing the value to the frame`
    report(atMost('a single change on the station, of one on a channel', ofStation / ofChannel, 1.1, from))
    await edge.stop()
    await world.stop()
  },
}

function compile(): { library: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'nownext-bench-writes-'))
  const library = join(folder, 'count-writes.so')
  const source = fileURLToPath(new URL('../generator/count-writes.c', import.meta.url))
  const { status, stderr } = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'])
  if (status !== 0) throw new Error(`count-writes.c does not compile: ${stderr}`)
  return { library, file: join(folder, 'counts') }
}
