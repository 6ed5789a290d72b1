// A storm of resumes on one edge: answered from its memory, then by an edge that has just started, from the log. The
// reference, in the same run: as many connects without a position.
//
//   npm run bench:resumes -- [--resumes 5000] [--records 30]
//
// Players, edge and log share this machine; the players are in the edge's own process, so the times hold their work too,
// most of it: a machine of its own would serve faster.
import { parseArgs } from 'node:util'
import { runStorm, showForStorm } from '../test/edge/storm.ts'
import { createWorld, type TestEdge } from '../test/edge/world.ts'
import { metricOf } from '../test/helpers/log.ts'

const { values } = parseArgs({
  options: { resumes: { type: 'string', default: '5000' }, records: { type: 'string', default: '30' } },
})
const storm = { resumes: Number(values.resumes), records: Number(values.records) }
const world = await createWorld()
const run = async (name: string, edge: TestEdge, afterPosition = true) => {
  const { openMs, servedMs, cpuMs, wrong } = await runStorm(edge, positions, { ...storm, afterPosition })
  const reads = await metricOf(edge.metrics.edgeLogReads)
  console.log(
    `${name.padEnd(12)}${storm.resumes} resumes: open after ${openMs.toFixed(0)} ms, served after ` +
      `${servedMs.toFixed(0)} ms (${cpuMs.toFixed(0)} ms of processor), ${reads} reads of the log, ${wrong} records wrong`,
  )
  if (wrong > 0) process.exitCode = 1
}
const first = await world.edge()
const positions = await showForStorm(world, storm)
await run('no position', first, false)
await run('memory', first)
await run('log', await world.edge())
await world.close()
process.exit()
