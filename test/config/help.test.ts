// --help, frozen: options and commands are interfaces. After a change on purpose: UPDATE_SNAPSHOT=1 npm test help
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { commandHelp, overview, serveHelp } from '../../src/cli/help.ts'
import { inRoot } from '../helpers/root.ts'

const snapshot = inRoot('test/config/help.txt')

test('--help is as it was', () => {
  const pages = [overview(), serveHelp(), ...commands.map(commandHelp)]
  const text = pages.join(`\n${'-'.repeat(100)}\n\n`)
  if (process.env['UPDATE_SNAPSHOT'] !== undefined) writeFileSync(snapshot, text)
  const frozen = readFileSync(snapshot, 'utf8').split('\n')
  const changed = text.split('\n').filter((line, at) => line !== frozen[at])
  assert.equal(changed[0], undefined, `--help has changed, first in this line: ${changed[0]}`)
  assert.equal(text, frozen.join('\n'))
})

test('no line of it is wider than 120 columns', () => {
  for (const line of readFileSync(snapshot, 'utf8').split('\n')) assert.ok(line.length <= 120, line)
})
