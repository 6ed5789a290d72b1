// The proof of rule 25, the long version of test/edge/seam.test.ts: players are cut at random moments and resume, by
// WebSocket and by SSE, on channels and a station, on one of two edges, while the log restarts and an edge is killed.
//
//   npm run soak:resume -- [--clients 200] [--seconds 30] [--channels 5] [--rate 100]
//
// The push rate is that of all channels together; rule 12 lets in 20/s each.
import { parseArgs } from 'node:util'
import { runCuts } from '../test/helpers/cuts.ts'

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '30' },
    channels: { type: 'string', default: '5' },
    rate: { type: 'string', default: '100' },
  },
})
const result = await runCuts({
  clients: Number(values.clients),
  seconds: Number(values.seconds),
  channels: Number(values.channels),
  rate: Number(values.rate),
  leastPushes: 1_000,
  leastCuts: Number(values.clients),
  faults: true,
})
for (const [name, value] of Object.entries(result))
  console.log(`${name.padEnd(12)}${String(value).padStart(9)}`)
const { gaps, missing, doubles, stepsBack, others } = result
if (gaps + missing + doubles + stepsBack + others > 0) process.exitCode = 1
