// npm run test:faults: what is promised of a cluster, while things die in it.
//
//   npm run test:faults                         every fault, in a random order; about a quarter of an hour
//   npm run test:faults -- --short              some of them, as many as fit into 4 minutes
//   npm run test:faults -- --seed 42            in the order of an earlier run
//   npm run test:faults -- --only "edge"        those whose name matches
//   npm run test:faults -- --write              puts the table into docs/reliability.md
//   --clients 1000  --rate 60                   how much load
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Fault, faults } from './faults.ts'
import { randomFrom, shuffled } from './random.ts'
import { oneLine, writePage } from './report.ts'
import { Trial } from './trial.ts'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    only: { type: 'string' },
    clients: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '60' },
    write: { type: 'boolean', default: false },
    /** Tries the program as it was built last. */
    built: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})

const root = fileURLToPath(new URL('../../', import.meta.url))
/** No further fault is begun after this, so that a short run ends within 4 minutes on a busy machine too. */
const shortBudgetMs = 170_000
const outDir = 'dist-test-faults'

/** Others may build or edit the program meanwhile; each of its processes here is to be of one make. */
function build(): string {
  const program = `${root}${outDir}/main.js`
  if (values.built && existsSync(program)) return program
  execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', outDir], {
    cwd: root,
    stdio: 'inherit',
  })
  return program
}

function chosen(): Fault[] {
  const { short, only } = values
  if (only !== undefined) return faults.filter(({ name }) => new RegExp(only).test(name))
  return faults.filter(fault => !short || fault.short === true)
}

function facts(): string {
  const minutes = ((Date.now() - startMs) / 60_000).toFixed(1)
  return `seed ${seed}, ${trial.rows.length} faults in ${minutes} min; ${trial.facts()}`
}

const seed = Number(values.seed)
const random = randomFrom(seed)
const startMs = Date.now()
console.log(`seed ${seed}`)
const trial = await Trial.start({
  program: build(),
  random,
  seed,
  clients: Number(values.clients),
  perSecond: Number(values.rate),
})
try {
  for (const fault of shuffled(chosen(), random)) {
    console.log(`\n${fault.name}`)
    if (values.short && Date.now() - startMs > shortBudgetMs) {
      console.log('  left out: no time')
      continue
    }
    const row = await trial.try(fault)
    if (row === undefined) console.log('  left out: this machine does not allow it')
    else console.log(`  ${row.hit}\n  ${oneLine(row)}`)
    for (const complaint of row?.faults ?? []) console.log(`  FAILED: ${complaint}`)
    // What a run that breaks off has found is not lost either.
    if (values.write) writePage(trial.rows, `One run: ${facts()}.`)
  }
} finally {
  if (values.keep) console.log(`kept: ${trial.folder}`)
  await trial.stop(values.keep)
}

const failed = trial.rows.filter(row => row.faults.length > 0)
console.log(`\n${facts()}; ${failed.length} failed`)
process.exit(failed.length === 0 && trial.rows.length > 0 ? 0 : 1)
