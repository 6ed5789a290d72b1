// Writes the documentation that is made from the code, so that the two can't differ.
//
//   npm run docs              writes
//   npm run docs -- --check   names what is not current, and exits 1
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorsPage } from './errors-page.ts'

/** A file of the documentation, by its path from the root, and what makes it from what it was ('' if it is new). */
type Page = { file: string; render(current: string): string }

const pages: Page[] = [{ file: 'docs/errors.md', render: errorsPage }]

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const check = process.argv.includes('--check')

for (const { file, render } of pages) {
  const path = join(root, file)
  const current = read(path)
  const wanted = render(current)
  if (wanted === current) continue
  if (check) {
    console.error(`${file} is not current: run "npm run docs"`)
    process.exitCode = 1
  } else {
    writeFileSync(path, wanted)
    console.log(`${file} written`)
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
