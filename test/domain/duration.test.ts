import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxDurationSeconds, readDurationText, readDurationValue } from '../../src/domain/duration.ts'

test('duration: the forms of a GET (rule 6)', () => {
  const rows: Array<[text: string, seconds: number | null]> = [
    ['225', 225],
    [' 225 ', 225],
    ['0', 0],
    ['007', 7],
    ['', 0],
    ['null', 0],
    ['3:45', 225],
    ['03:45', 225],
    ['75:10', 4510],
    ['01:02:03', 3723],
    ['0:00', 0],
    ['225.97', 226],
    ['225,4810000', 225],
    ['225.5', 226],
    ['225.', 225],
    ['225000', 225_000],
    [String(maxDurationSeconds), maxDurationSeconds],
    ['2147483647.4', maxDurationSeconds],
    ['2147483647.5', null],
    [String(maxDurationSeconds + 1), null],
    ['99999999999999999999', null],
    ['-1', null],
    ['-0', null],
    ['+1', null],
    ['1e3', null],
    ['0x10', null],
    ['3:60', null],
    ['3:4', null],
    ['1:60:00', null],
    ['1:2:3:4', null],
    ['3:45.5', null],
    ['1.2.3', null],
    ['1,234.5', null],
    ['.5', null],
    ['long', null],
    ['NaN', null],
    ['Infinity', null],
    ['600000:00:00', null],
  ]
  for (const [text, seconds] of rows) assert.equal(readDurationText(text), seconds, text)
})

test('duration: the forms of a POST (rules 6 and 9)', () => {
  const rows: Array<[value: number | string | null, seconds: number | null]> = [
    [225, 225],
    [8.36, 8],
    [8.5, 9],
    [0, 0],
    [-0, 0],
    [null, 0],
    ['', 0],
    ['225', 225],
    [' 225 ', 225],
    [maxDurationSeconds, maxDurationSeconds],
    [maxDurationSeconds + 1, null],
    [String(maxDurationSeconds + 1), null],
    [-1, null],
    [-0.4, null],
    ['-1', null],
    ['3:45', null],
    ['225.97', null],
    ['null', null],
    [Number.POSITIVE_INFINITY, null],
    [Number.NaN, null],
  ]
  for (const [value, seconds] of rows) {
    const read = readDurationValue(value)
    assert.ok(Object.is(read, seconds), `${JSON.stringify(value)} was read as ${read}`)
  }
})
