// Runs every test/**/*.test.ts on node's own runner. Node 20's --test takes no globs, so the files are collected here.
//
//   npm test                      all
//   npm test -- console           only files whose path holds "console"
//   npm test -- --name "rule 13"  only tests whose name matches
//   npm test -- --tap             TAP instead of the readable report
//
// They run from a build, made here into a folder of its own: from source, each of a hundred processes would take half a
// second more. A single file runs without this script too: node --import tsx --test test/cli/watch.test.ts
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { run } from 'node:test'
import { spec, tap } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    name: { type: 'string', short: 'n' },
    tap: { type: 'boolean' },
    concurrency: { type: 'string' },
  },
})

const files = readdirSync(join(root, 'test'), { recursive: true })
  .map(name => join('test', String(name)))
  .filter(name => name.endsWith('.test.ts'))
  .filter(
    name => positionals.length === 0 || positionals.some(part => name.split(sep).join('/').includes(part)),
  )
  .sort()

if (files.length === 0) {
  console.error(`no test file matches ${positionals.join(' ')}`)
  process.exit(1)
}

const build = `dist-test-${process.pid}`
process.on('exit', () => rmSync(build, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
const emit = ['--noEmit', 'false', '--rewriteRelativeImportExtensions', '--rootDir', '.', '--inlineSourceMap']
const built = spawnSync(process.execPath, [tsc, ...emit, '--outDir', build], { stdio: 'inherit' })
// A build with type errors runs all the same; the errors are shown, and the whole fails.
if (built.status !== 0) process.exitCode = 1
process.env.TEST_DIST = build
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim()
// What the program looks for in its own folder.
mkdirSync('.nats', { recursive: true })
for (const name of ['package.json', 'nats.conf', '.nats']) symlinkSync(join('..', name), join(build, name))

const stream = run({
  files: files.map(name => join(root, build, name.replace(/\.ts$/, '.js'))),
  concurrency: Number(values.concurrency ?? 2),
  timeout: 300_000,
  ...(values.name === undefined ? {} : { testNamePatterns: [new RegExp(values.name)] }),
})
const failed = new Set()
stream.on('test:fail', ({ file, name, todo }) => {
  if (todo === undefined || todo === false) failed.add(`${relative(join(root, build), file ?? '')}: ${name}`)
})
stream.on('end', () => {
  if (failed.size > 0) process.exitCode = 1
})
stream.compose(values.tap ? tap : new spec()).pipe(process.stdout)
