// A storm of resumes on one edge: answered from its memory, then by an edge that has just started, from the log.
//
//   npm run bench:resumes -- [--resumes 5000] [--records 30]
//
// Players, edge and log share this machine; the players are in the edge's own process, so both times hold their work too.
import { parseArgs } from 'node:util'
import { runStorm, showForStorm } from '../test/edge/storm.ts'
import { createWorld, type TestEdge } from '../test/edge/world.ts'
import { metricOf } from '../test/helpers/log.ts'

const { values } = parseArgs({
  options: { resumes: { type: 'string', default: '5000' }, records: { type: 'string', default: '30' } },
})
const storm = { resumes: Number(values.resumes), records: Number(values.records) }
const world = await createWorld()
const run = async (name: string, edge: TestEdge) => {
  const { openMs, servedMs, wrong } = await runStorm(edge, positions, storm)
  const reads = await metricOf(edge.metrics.edgeLogReads)
  console.log(
    `${name.padEnd(12)}${storm.resumes} resumes: open after ${openMs.toFixed(0)} ms, served after ` +
      `${servedMs.toFixed(0)} ms, ${reads} reads of the log, ${wrong} records wrong`,
  )
  if (wrong > 0) process.exitCode = 1
}
const first = await world.edge()
const positions = await showForStorm(world, storm)
await run('memory', first)
await run('log', await world.edge())
await world.close()
process.exit()
