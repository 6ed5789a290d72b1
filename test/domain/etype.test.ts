import assert from 'node:assert/strict'
import { test } from 'node:test'
import { etypes, readEtype } from '../../src/domain/etype.ts'
import { readTracktype } from '../../src/domain/tracktype.ts'

test('etype: the table of spec 2.3 by name and by number', () => {
  assert.equal(Object.keys(etypes).length, 14)
  for (const [name, id] of Object.entries(etypes)) {
    assert.equal(readEtype(name), id)
    assert.equal(readEtype(name.toUpperCase()), id)
    assert.equal(readEtype(String(id)), id)
  }
})

test('etype: any integer passes, nothing else (rule 8)', () => {
  const rows: Array<[text: string, id: number | null]> = [
    ['', 0],
    [' ', 0],
    ['-0', 0],
    ['7', 7],
    ['-7', -7],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', null],
    ['1.5', null],
    ['1e3', null],
    ['0x65', null],
    ['Music', null],
    ['Music 9', null],
    ['Music3', null],
    ['null', null],
    ['constructor', null],
  ]
  for (const [text, id] of rows) assert.ok(Object.is(readEtype(text), id), text)
})

test('tracktype: now and next in any case, empty is now (rule 8)', () => {
  for (const text of ['', ' ', 'now', 'NOW', 'Now ']) assert.equal(readTracktype(text), 'now')
  for (const text of ['next', 'Next', ' NEXT']) assert.equal(readTracktype(text), 'next')
  for (const text of ['current', 'now,next', 'null', 'nownow']) assert.equal(readTracktype(text), null)
})
