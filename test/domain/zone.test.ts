import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { formatLocal, formatUtc } from '../../src/domain/time.ts'
import {
  instantOf,
  isTimezone,
  maxRememberedZones,
  offsetAt,
  readOffset,
  timezoneName,
} from '../../src/domain/zone.ts'

// Every eighth zone, and those with rules of their own: half an hour, a quarter, Ramadan, a lost day.
const special = [
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Pacific/Apia',
  'Europe/Berlin',
]
const zones = [...special, ...Intl.supportedValuesOf('timeZone').filter((_, n) => n % 8 === 0)]

/** The local time by the platform's own tables, as `DD.MM.YYYY HH:MM:SS`. */
function platformLocal(ms: number, formatter: Intl.DateTimeFormat): string {
  const parts = Object.fromEntries(formatter.formatToParts(ms).map(({ type, value }) => [type, value]))
  return `${parts['day']}.${parts['month']}.${parts['year']} ${parts['hour']}:${parts['minute']}:${parts['second']}`
}

function platformFormatter(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
}

/** `DD.MM.YYYY HH:MM:SS` read as if it were UTC. */
function asUtc(local: string): number {
  const [day, month, year, hour, minute, second] = local.split(/[. :]/).map(Number)
  return Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second)
}

/** The next two changes of offset after an instant, if the zone has any. */
function changesAfter(ms: number, zone: string): number[] {
  const first = Temporal.Instant.fromEpochMilliseconds(ms)
    .toZonedDateTimeISO(zone)
    .getTimeZoneTransition('next')
  const second = first?.getTimeZoneTransition('next')
  return [first, second].flatMap(change => (change ? [change.epochMilliseconds] : []))
}

test('zone: the three time fields name one instant, in zones all over the world, around both changes of a year (rule 2)', () => {
  const base = Date.UTC(2026, 5, 1)
  for (const zone of zones) {
    const formatter = platformFormatter(zone)
    const moments = changesAfter(base, zone).flatMap(change => [change - 1000, change, change + 1000])
    for (const ms of [base, ...moments]) {
      const start = formatLocal(ms, zone)
      assert.equal(start, platformLocal(ms, formatter), `${zone} ${formatUtc(ms)}`)
      assert.equal(Date.parse(formatUtc(ms)), ms)
      assert.equal(instantOf(asUtc(start), zone, ms), ms, `${zone} ${start}`)
    }
  }
})

test('zone: at any time, in any order, the platform and the remembered spans agree', () => {
  const some = fc.constantFrom(
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'UTC',
  )
  const formatters = new Map<string, Intl.DateTimeFormat>()
  const seconds = fc.integer({ min: 0, max: 4_102_444_800 })
  fc.assert(
    fc.property(some, seconds, (zone, seconds) => {
      const ms = seconds * 1000
      const formatter = formatters.get(zone) ?? platformFormatter(zone)
      formatters.set(zone, formatter)
      const start = formatLocal(ms, zone)
      assert.equal(start, platformLocal(ms, formatter))
      assert.equal(instantOf(asUtc(start), zone, ms), ms)
    }),
  )
})

test('zone: names are IANA names in any case', () => {
  for (const zone of zones) assert.equal(isTimezone(zone), true, zone)
  for (const name of ['utc', 'europe/BERLIN', 'Etc/GMT+5', 'CET']) assert.equal(isTimezone(name), true, name)
  for (const name of [
    '',
    'Z',
    'MEZ',
    '+01:00',
    '-0330',
    'GMT+1',
    'Europe',
    '../UTC',
    'x'.repeat(65),
    'UTC ',
  ]) {
    assert.equal(isTimezone(name), false, name)
  }
})

test('zone: a name in the letters in which it is written; an alias stays what it is', () => {
  const rows = {
    'europe/berlin': 'Europe/Berlin',
    UTC: 'UTC',
    utc: 'UTC',
    'AMERICA/PORT-AU-PRINCE': 'America/Port-au-Prince',
    'asia/calcutta': 'Asia/Calcutta',
    'etc/gmt+5': 'Etc/GMT+5',
    'middle/earth': undefined,
    '+01:00': undefined,
  }
  for (const [name, written] of Object.entries(rows)) assert.equal(timezoneName(name), written, name)
})

test('zone: offsets', () => {
  const rows: Array<[text: string, ms: number | null]> = [
    ['+00:00', 0],
    ['+05:30', 19_800_000],
    ['-00:00', 0],
    ['-03:30', -12_600_000],
    ['+23:59', 86_340_000],
    ['+24:00', null],
    ['+01:60', null],
    ['01:00', null],
    ['+0100', null],
    ['+1:00', null],
    ['', null],
  ]
  for (const [text, ms] of rows) assert.equal(readOffset(text), ms, text)
})

test('zone: an unknown zone is the caller’s fault', () => {
  assert.throws(() => formatLocal(0, 'Mars/Olympus'), RangeError)
})

test('zone: more spellings than are remembered still give right answers', () => {
  const name = 'america/argentina/buenos_aires'
  for (let spelling = 0; spelling <= maxRememberedZones; spelling++) {
    const odd = [...name].map((c, at) => ((spelling >> at) & 1 ? c.toUpperCase() : c)).join('')
    assert.equal(offsetAt(Date.UTC(2026, 5, 1), odd), -3 * 3_600_000)
  }
})
