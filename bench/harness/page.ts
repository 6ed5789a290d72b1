// docs/performance.md, made from the results.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { loadUws } from '../../src/edge/uws.ts'
import { type Results, scenarios } from '../scenarios.ts'

const page = fileURLToPath(new URL('../../docs/performance.md', import.meta.url))
const notes = fileURLToPath(new URL('../notes.md', import.meta.url))

const intro = `# Performance

Made by \`npm run bench\`; do not edit. A ratio (×) is to a reference that ran in the same minutes on the same core, turn
about; figures are medians of the rounds. Only the ratios mean something on another machine: times and memory are told with
what they were measured on. \`npm run bench -- NAME\` runs one scenario. Where a figure is missed, the [notes](#notes) say
why.
`

export function writePage(results: Results): void {
  const sections = scenarios.flatMap(({ name, title }) => {
    const result = results[name]
    if (result === undefined) return []
    const { at, loadBefore, machine, about, rows } = result
    const lines = rows.map(
      ({ what, asked, reached, holds, from }) =>
        `| ${what} | ${asked} | ${reached} | ${holds === undefined ? '' : holds ? 'yes' : '**no**'} | ${from} |`,
    )
    return [
      `## ${title}`,
      '',
      `${about}`,
      '',
      `\`npm run bench -- ${name}\`, ${at.slice(0, 16).replace('T', ' ')} UTC, load average before it ${loadBefore.toFixed(2)}, ${machine}.`,
      '',
      '| figure | asked | reached | holds | from |',
      '|---|---|---|---|---|',
      ...lines,
      '',
    ]
  })
  const text = [intro, method(), '', ...sections, readFileSync(notes, 'utf8').trim(), ''].join('\n')
  writeFileSync(page, text)
  console.log(`\nwritten: docs/performance.md`)
}

/** What a result was measured on. */
export function machineLine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return `on ${cpus().length} cores of ${cpus()[0]?.model ?? 'unknown'}, ${gigabytes} GB, virtual; Linux ${release()}, Node ${process.versions.node}`
}

function method(): string {
  const uws = loadUws()
  const compiler = firstLine('cc', ['--version'])
  return [
    '## With what',
    '',
    `- ${uws.name} ${uws.version}, ${firstLine('.nats/nats-server', ['--version'])}; the machine stands with each scenario.`,
    '- The server that is measured has core 0 for itself, or shares it with others that are idle; the generator, NATS and',
    '  the bench share core 1. Where all of the service is measured at once, all of it and the generator share both.',
    `- The generator is C (\`bench/generator\`), compiled at bench time (${compiler}); without \`cc\` the benches stop with one line.`,
    '  Where its share of its core is told and is below 100 %, it was not the limit. What may be asked of an edge is limited',
    "  by its core or by the generator's, so the CPU is told beside each rate: the kernel's own count of nanoseconds of all",
    '  threads of a process (`schedstat`).',
  ].join('\n')
}

function firstLine(command: string, args: string[]): string {
  const cwd = fileURLToPath(new URL('../../', import.meta.url))
  const { stdout } = spawnSync(command, args, { encoding: 'utf8', cwd })
  return stdout?.split('\n')[0] ?? `no ${command}`
}
