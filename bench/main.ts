// The benches: every scenario, or those named, each against a reference in the same minutes.
//
//   npm run bench                     all (40 minutes), and docs/performance.md from what they found
//   npm run bench -- fan-out polls    some; the page keeps what it had of the others
//
import { readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { machineLine, writePage } from './harness/page.ts'
import type { Row } from './harness/rows.ts'
import { type Results, scenarios } from './scenarios.ts'

const file = fileURLToPath(new URL('results.json', import.meta.url))
const asked = process.argv.slice(2)
const unknown = asked.filter(name => !scenarios.some(scenario => scenario.name === name))
if (unknown.length > 0) {
  console.error(`no such scenario: ${unknown.join(', ')}; there are ${scenarios.map(s => s.name).join(', ')}`)
  process.exit(2)
}
// What it has started ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const results: Results = readResults()
const machine = machineLine()
for (const scenario of scenarios) {
  if (asked.length > 0 && !asked.includes(scenario.name)) continue
  console.log(`\n${scenario.title}`)
  const [loadBefore = 0] = loadavg()
  const at = new Date().toISOString()
  const rows: Row[] = []
  try {
    await scenario.run(row => {
      rows.push(row)
      results[scenario.name] = { at, loadBefore, machine, about: scenario.about, rows }
      writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`)
      const verdict = row.holds === undefined ? '     ' : row.holds ? 'holds' : 'MISSED'
      console.log(
        `  ${verdict.padEnd(7)}${row.what}: ${row.reached}${row.asked && ` (asked ${row.asked})`}; ${row.from}`,
      )
    })
  } catch (error) {
    console.error(`  ${scenario.name} broke off: ${error instanceof Error ? error.stack : error}`)
    process.exitCode = 1
  }
}
writePage(results)
process.exit()

function readResults(): Results {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
