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

Made by \`npm run bench\`; do not edit. Each figure is a ratio to a reference that ran in the same minutes on the same
core, turn about, and is the median of its rounds; only the ratios mean something on another machine. \`npm run bench --
NAME\` runs one scenario. Where a figure is missed, the [notes](#notes) say why.
`

export function writePage(results: Results): void {
  const sections = scenarios.flatMap(({ name, title, about }) => {
    const result = results[name]
    if (result === undefined) return []
    const { at, loadBefore, rows } = result
    const lines = rows.map(
      ({ what, asked, reached, holds, from }) =>
        `| ${what} | ${asked} | ${reached} | ${holds === undefined ? '' : holds ? 'yes' : '**no**'} | ${from} |`,
    )
    return [
      `## ${title}`,
      '',
      `${about}`,
      '',
      `\`npm run bench -- ${name}\`, ${at.slice(0, 16).replace('T', ' ')} UTC, load average before it ${loadBefore.toFixed(2)}.`,
      '',
      '| figure | asked | reached | holds | from |',
      '|---|---|---|---|---|',
      ...lines,
      '',
    ]
  })
  const text = [intro, machine(), '', ...sections, readFileSync(notes, 'utf8').trim(), ''].join('\n')
  writeFileSync(page, text)
  console.log(`\nwritten: docs/performance.md`)
}

function machine(): string {
  const uws = loadUws()
  const compiler = firstLine('cc', ['--version'])
  return [
    '## Where and with what',
    '',
    `- Machine: ${cpus().length} cores of ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GB, virtual; Linux ${release()}.`,
    `- Node ${process.versions.node}, ${uws.name} ${uws.version}, ${firstLine('.nats/nats-server', ['--version'])}.`,
    '- The server that is measured has core 0 for itself; the generator, NATS and the bench share core 1. Where all of the',
    '  service is measured at once, all of it and the generator share both.',
    `- The generator is C (\`bench/generator\`), compiled at bench time (${compiler}); without \`cc\` the benches stop with one line.`,
    "  Its share of its core is told beside the figures: where that is below 100 %, it was not the limit. CPU is the kernel's own",
    '  count of nanoseconds of all threads of a process (`schedstat`).',
  ].join('\n')
}

function firstLine(command: string, args: string[]): string {
  const cwd = fileURLToPath(new URL('../../', import.meta.url))
  const { stdout } = spawnSync(command, args, { encoding: 'utf8', cwd })
  return stdout?.split('\n')[0] ?? `no ${command}`
}
