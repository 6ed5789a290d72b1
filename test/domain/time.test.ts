import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  endTimeMs,
  formatLocal,
  formatUtc,
  minTimeMs,
  readTime,
  type TimeReading,
} from '../../src/domain/time.ts'

const arrivalMs = Date.UTC(2026, 11, 1, 12)
const startMs = Date.UTC(2026, 10, 27, 19, 15)

function read(text: string, pushedZone = '', zone = 'Europe/Berlin', nearMs = arrivalMs): TimeReading {
  return readTime(text, { arrivalMs: nearMs, zone, pushedZone })
}

function readMs(text: string, pushedZone = '', zone = 'Europe/Berlin', nearMs = arrivalMs): number | null {
  const reading = read(text, pushedZone, zone, nearMs)
  assert.ok(reading.ok, text)
  return reading.explicitMs
}

/** Which fields the warnings are about. */
function warned(reading: TimeReading): string[] {
  assert.ok(reading.ok)
  return reading.warnings.map(warning => warning.slice(0, warning.indexOf(':')))
}

test('time: explicit forms that need no warning (rule 7)', () => {
  const rows: Array<[text: string, ms: number]> = [
    ['1795806900', startMs],
    [' 1795806900\0', startMs],
    ['1795806900.75', startMs],
    ['1795806900.', startMs],
    ['1', 1000],
    ['1795806900250', startMs + 250],
    ['1795806900250.9', startMs + 250],
    ['0000000001000', 1000],
    ['2026-11-27T19:15:00Z', startMs],
    ['2026-11-27t19:15:00z', startMs],
    ['2026-11-27 19:15:00Z', startMs],
    ['2026-11-27T20:15:00+01:00', startMs],
    ['2026-11-27T09:45:00-09:30', startMs],
    ['2026-11-28T19:14:00+23:59', startMs],
    ['2026-11-27T19:15:00-00:00', startMs],
    ['2026-11-27T19:15:00.5Z', startMs + 500],
    ['2026-11-27T19:15:00.123456789Z', startMs + 123],
    ['2026-11-27T19:15:00.9999+00:00', startMs + 999],
    ['2026-11-27T19:14:60Z', startMs],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
    ['1970-01-01T00:00:00Z', minTimeMs],
    ['9999-12-30T23:59:59.999Z', endTimeMs - 1],
  ]
  for (const [text, explicitMs] of rows) {
    assert.deepEqual(read(text), { ok: true, explicitMs, warnings: [] }, text)
  }
})

test('time: now, with and without a warning (rule 7)', () => {
  for (const text of ['', ' ', '\0'])
    assert.deepEqual(read(text), { ok: true, explicitMs: null, warnings: [] })
  for (const text of ['0', '-1', 'null', '0.5', '-1.0', '000', 'NULL']) {
    assert.equal(readMs(text), null)
    assert.deepEqual(warned(read(text)), ['time'], text)
  }
})

test('time: a + that became a blank is repaired, with a warning', () => {
  for (const text of [
    '2026-11-27T20:15:00 01:00',
    '2026-11-27 20:15:00 01:00',
    '2026-11-27T20:15:00.0 01:00',
  ]) {
    assert.equal(readMs(text), startMs, text)
    assert.deepEqual(warned(read(text)), ['time'], text)
  }
})

test('time: without a zone, the pushed one counts, else the channel’s with a warning', () => {
  const local = '2026-11-27T20:15:00'
  const rows: Array<[pushedZone: string, ms: number, warned: string[]]> = [
    ['', startMs, ['time']],
    ['Europe/Berlin', startMs, []],
    ['UTC', startMs + 3_600_000, []],
    ['utc', startMs + 3_600_000, []],
    ['America/New_York', startMs + 6 * 3_600_000, []],
    ['+01:00', startMs, []],
    [' 01:00', startMs, []],
    ['-03:30', startMs + 4.5 * 3_600_000, []],
    ['+25:00', startMs, ['timezone', 'time']],
    ['MEZ', startMs, ['timezone', 'time']],
    ['Mars/Olympus', startMs, ['timezone', 'time']],
    ['x'.repeat(10_000), startMs, ['timezone', 'time']],
  ]
  for (const [pushedZone, ms, fields] of rows) {
    assert.equal(readMs(local, pushedZone), ms, pushedZone)
    assert.deepEqual(warned(read(local, pushedZone)), fields, pushedZone)
  }
  assert.equal(readMs('2026-11-27 20:15:00.25'), startMs + 250)
  assert.equal(readMs('2026-11-27T20:15:00+01:00', 'MEZ'), startMs, 'an offset needs no zone')
})

test('time: in autumn the instant nearer to arrival', () => {
  const first = Date.UTC(2026, 9, 25, 0, 30)
  const second = first + 3_600_000
  assert.equal(readMs('2026-10-25T02:30:00', '', 'Europe/Berlin', first - 5000), first)
  assert.equal(readMs('2026-10-25T02:30:00', '', 'Europe/Berlin', first + 1_700_000), first)
  assert.equal(readMs('2026-10-25T02:30:00', '', 'Europe/Berlin', first + 1_900_000), second)
  assert.equal(readMs('2026-10-25T02:30:00', '', 'Europe/Berlin', second + 5000), second)
  assert.equal(readMs('2026-10-25T01:59:59', '', 'Europe/Berlin', second), first - 1_801_000)
  assert.equal(readMs('2026-10-25T03:00:00', '', 'Europe/Berlin', first), second + 1_800_000)
  assert.equal(
    readMs('2026-11-01T01:30:00', 'America/New_York', 'UTC', Date.UTC(2026, 10, 1, 6, 30)),
    1793514600000,
  )
})

test('time: in spring the skipped hour is shifted forward', () => {
  assert.equal(readMs('2026-03-29T02:30:00'), Date.UTC(2026, 2, 29, 1, 30))
  assert.equal(readMs('2026-03-29T01:59:59'), Date.UTC(2026, 2, 29, 0, 59, 59))
  assert.equal(readMs('2026-03-29T03:00:00'), Date.UTC(2026, 2, 29, 1))
  // A whole day was skipped.
  assert.equal(readMs('2011-12-30T12:00:00', 'Pacific/Apia'), Date.UTC(2011, 11, 30, 22))
})

test('time: anything else is refused, and the message names it', () => {
  const unreadable = [
    '6:56:10 PM',
    'now',
    'NaN',
    '1e9',
    '0x10',
    '1,5',
    '12345678901234567',
    '2026-11-27',
    '2026-11-27T19:15Z',
    '2026-11-27T24:00:00Z',
    '2026-11-27T19:60:00Z',
    '2026-11-27T19:15:61Z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-11-00T00:00:00Z',
    '2026-11-27T19:15:00+24:00',
    '2026-11-27T19:15:00+01:60',
    '2026-11-27T19:15:00+01',
    '2026-11-27T19:15:00 Z',
    '20261127T191500Z',
    '12026-11-27T19:15:00Z',
    '-2026-11-27T19:15:00Z',
    '27.11.2026 20:15:00',
    'Fri, 27 Nov 2026 19:15:00 GMT',
  ]
  for (const text of unreadable) {
    const reading = read(text)
    assert.equal(reading.ok, false, text)
    assert.ok(!reading.ok && reading.message.includes(JSON.stringify(text)), text)
  }
})

test('time: what lies outside 1970 to 9999 is refused', () => {
  const outside = [
    '-2',
    '-86400',
    '253402214400',
    '999999999999',
    '17958069002500',
    '1969-12-31T23:59:59Z',
    '1970-01-01T00:00:00+00:01',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00',
    '9999-12-31T00:00:00Z',
    '9999-12-31T23:59:59',
    '9999-12-31T23:59:59-23:59',
  ]
  for (const text of outside) assert.equal(read(text).ok, false, text)
  assert.equal(readMs('253402214399'), endTimeMs - 1000)
})

test('time: reading what was written gives the same second', () => {
  const seconds = fc.integer({ min: 1, max: endTimeMs / 1000 - 1 })
  fc.assert(
    fc.property(seconds, seconds => {
      const ms = seconds * 1000
      assert.equal(readMs(formatUtc(ms)), ms)
      assert.equal(readMs(String(seconds)), ms)
    }),
  )
})

test('time: any text is read or refused, never thrown at', () => {
  const pieces = fc.constantFrom(
    '2026',
    '-',
    '11',
    'T',
    ' ',
    ':',
    '00',
    'Z',
    '+',
    '.',
    '9',
    '0',
    'null',
    '\0',
    'ü',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(pieces).map(parts => parts.join('')),
  )
  fc.assert(
    fc.property(text, text, (text, zone) => {
      const reading = read(text, zone)
      if (reading.ok && reading.explicitMs !== null) {
        assert.match(formatUtc(reading.explicitMs), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      }
    }),
  )
})

test('time: both edges of what is accepted can be written in the outermost zones', () => {
  assert.equal(formatLocal(endTimeMs - 1, 'Pacific/Kiritimati'), '31.12.9999 13:59:59')
  assert.equal(formatLocal(minTimeMs, 'Pacific/Pago_Pago'), '31.12.1969 13:00:00')
})
