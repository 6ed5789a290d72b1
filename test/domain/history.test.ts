import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  csvHeader,
  encodeCsvRows,
  encodeOperatorRow,
  encodeRow,
  isWanted,
  type PlayRow,
  PlaysBackwards,
} from '../../src/domain/history.ts'
import { encodeValue, type HistoryValue, readHistoryValue, UnknownVersion } from '../../src/domain/value.ts'
import { readCsv } from '../helpers/csv.ts'
import { Story, type Told } from '../helpers/story.ts'

/** The values of a story, as they are stored and read back. */
function valuesOf({ changes }: Story): HistoryValue[] {
  return changes.map((change, index) => {
    const place = { event: change.sequence, done: true, prev: index }
    return readHistoryValue(
      index + 1,
      encodeValue(change, place, { now: 'n'.repeat(16), next: 'x'.repeat(16) }),
    )
  })
}

/** The rows of a story, the newest first. */
function rowsOf(story: Story): PlayRow[] {
  const plays = new PlaysBackwards()
  return valuesOf(story)
    .reverse()
    .map(value => plays.take(value))
    .filter(row => row !== null)
}

function told(story: Story): string[] {
  return rowsOf(story).map(
    ({ record, played, reason }) =>
      `${record.artist} - ${record.song} ${record.duration} ${played}${reason === null ? '' : ` not shown: ${reason}`}`,
  )
}

const fallback = { song: 'Back', artist: 'F', afterSeconds: 10 }

const table: Array<[name: string, story: Story, rows: string[]]> = [
  ['nothing was shown', new Story(), []],
  ['only a next', new Story().next(0, 'A - One'), []],
  ['the current one', new Story().now(0, 'A - One'), ['A - One 0 null']],
  [
    'repeats are left out, corrections are its fields',
    new Story().now(0, 'A - One', { duration: 100 }).now(20, 'A - One').now(40, 'A - One', { duration: 90 }),
    ['A - One 90 null'],
  ],
  [
    'played: until the next now, at most the duration where known',
    new Story()
      .now(0, 'A - One')
      .now(100, 'B - Two', { duration: 50 })
      .now(200, 'C - Three', { duration: 500 })
      .now(230, ''),
    [' -  0 null', 'C - Three 500 30', 'B - Two 50 50', 'A - One 0 100'],
  ],
  [
    'a correction after the next was announced',
    new Story().now(0, 'A - One').next(10, 'B - Two').now(20, 'A - One', { duration: 60 }).now(50, 'B - Two'),
    ['B - Two 0 null', 'A - One 60 50'],
  ],
  [
    'a late play stands at its place in the log and ends nothing',
    new Story()
      .now(0, 'A - One')
      .now(100, 'B - Two', { time: 100 })
      .now(110, 'L - Late', { time: 50 })
      .now(150, 'C - Three'),
    ['C - Three 0 null', 'L - Late 0 0 not shown: older', 'B - Two 0 50', 'A - One 0 100'],
  ],
  [
    'a fallback is a play that ends the one before it',
    new Story({ fallback }).now(0, 'A - One', { duration: 60 }).until(100).now(100, 'B - Two'),
    ['B - Two 0 null', 'F - Back 0 30', 'A - One 60 60'],
  ],
  [
    'held pushes begin at their start',
    new Story().now(0, 'A - One').now(1, 'B - Two', { time: 20 }).until(40).now(50, 'C - Three'),
    ['C - Three 0 null', 'B - Two 0 30', 'A - One 0 20'],
  ],
  [
    'a next whose start is older than this one ends it at once',
    new Story().now(1000, 'A - One').now(1010, 'B - Two', { time: 500 }),
    ['B - Two 0 null', 'A - One 0 0'],
  ],
]

for (const [name, story, rows] of table) test(name, () => assert.deepEqual(told(story), rows))

const texts = ['A - One', 'B - Two', 'C - Three', '', 'F - Back']
const stories = fc
  .array(
    fc.record({
      after: fc.constantFrom(0, 1, 10, 20, 70, 300, 5000),
      kind: fc.constantFrom('now', 'now', 'now', 'next'),
      text: fc.constantFrom(...texts),
      told: fc.record(
        {
          time: fc.integer({ min: -4000, max: 4000 }),
          id: fc.constantFrom('1', '2', '3'),
          duration: fc.constantFrom(0, 5, 60, 180),
          externalid: fc.constantFrom('{"a":12345678901234567890}', '"text"'),
        },
        { requiredKeys: [] },
      ),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map(steps => {
    const story = new Story({ fallback })
    let at = 0
    for (const { after, kind, text, told } of steps) {
      at += after
      const { time, ...fields } = told
      const facts: Told = time === undefined ? fields : { ...fields, time: at + time }
      story.push(kind as 'now' | 'next', at, text, facts)
    }
    return story
  })

test('of any story: a row for each play and each late one, in order; played is never negative, and known of all but one', () => {
  fc.assert(
    fc.property(stories, story => {
      const rows = rowsOf(story)
      const begun = story.plays.filter(play => play.startsWith('new') || play.startsWith('late'))
      assert.equal(rows.length, begun.length)
      const sequences = rows.map(row => row.sequence)
      assert.deepEqual(
        sequences,
        [...new Set(sequences)].sort((a, b) => b - a),
      )
      const shown = rows.filter(row => row.reason === null)
      assert.ok(shown.slice(1).every(row => row.played !== null && row.played >= 0))
      assert.ok(shown.every(({ record, played }) => !record.duration || (played ?? 0) <= record.duration))
      assert.equal(shown[0]?.played ?? null, null)
      assert.deepEqual(shown[0]?.record ?? null, story.state.now?.record ?? null)
    }),
    { numRuns: 300 },
  )
})

test('a row is the record of rule 19 with played and shown, byte for byte what was pushed', () => {
  const extdata = '{"z":1,"big":12345678901234567890,"1":1.0}'
  const [row] = rowsOf(new Story().now(0, 'A - One', { extdata }))
  assert.ok(row)
  const json = encodeRow(row, 'p'.repeat(16))
  assert.ok(json.includes(`"extdata":${extdata},"played":null,"shown":true}`))
  const { position, played, shown, ...rest } = JSON.parse(json)
  assert.deepEqual([position, played, shown], ['p'.repeat(16), null, true])
  assert.equal(Object.keys(rest).length, Object.keys(row.record).length)
})

test('the operator also reads why a play was not shown, and the warnings of its push and its corrections, each once', () => {
  const story = new Story()
    .now(0, 'A - One', { time: 0 })
    .now(100, 'B - Two', { time: -5_000 })
    .now(110, 'B - Two', { duration: 50, warnings: ['cover: dropped'] })
    .now(120, 'B - Two', { duration: 60, warnings: ['cover: dropped'] })
    .now(130, 'C - Three', { time: 130 })
    .now(131, 'L - Late', { time: 100 })
  const [late, , two, one] = rowsOf(story).map(row => JSON.parse(encodeOperatorRow(row, 'p'.repeat(16))))
  assert.deepEqual([late.shown, late.reason, late.warnings], [false, 'older', []])
  assert.deepEqual([two.shown, two.reason, two.warnings.length], [true, null, 2])
  assert.match(two.warnings[0], /^time: /)
  assert.equal(two.warnings[1], 'cover: dropped')
  assert.deepEqual(one.warnings, [])
  const [row] = rowsOf(story)
  assert.ok(row)
  assert.deepEqual(
    Object.keys(JSON.parse(encodeRow(row, ''))).slice(-2),
    ['played', 'shown'],
    'players do not',
  )
})

test('CSV: whatever the texts, they come back', () => {
  const [plain] = rowsOf(new Story().now(0, 'A - One'))
  assert.ok(plain)
  const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'ä', '=', ';') })
  fc.assert(
    fc.property(
      fc.array(fc.record({ artist: text, song: text, id: text }, { noNullPrototype: true })),
      lines => {
        const rows = lines.map(line => ({ ...plain, record: { ...plain.record, ...line } }))
        const [, ...read] = readCsv(csvHeader + encodeCsvRows(rows))
        const back = read.map(([, artist, song, , , , , , id]) => ({ artist, song, id }))
        assert.deepEqual(back, lines)
      },
    ),
  )
})

test('the filter', () => {
  const [row] = rowsOf(new Story().now(0, 'A - One', { etype: 104 }))
  assert.ok(row)
  const at = row.record.start_timestamp
  const all = { from: null, to: null, etype: null, source: 'metapush', stationkey: null } as const
  for (const [filter, wanted] of [
    [{}, true],
    [{ from: at, to: at }, true],
    [{ from: at + 1 }, false],
    [{ to: at - 1 }, false],
    [{ etype: 104 }, true],
    [{ etype: 0 }, false],
    [{ source: 'fallback' }, false],
    [{ stationkey: 'station' }, true],
    [{ stationkey: 'other' }, false],
  ] as const)
    assert.equal(isWanted(row, { ...all, ...filter }), wanted, JSON.stringify(filter))
})

test('a value of a later release is refused', () => {
  assert.throws(() => readHistoryValue(1, '{"v":2}'), UnknownVersion)
})
