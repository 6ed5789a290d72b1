import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeClock } from '../../src/domain/clock.ts'
import type { Tracktype } from '../../src/domain/event.ts'

const receivedMs = Date.UTC(2026, 10, 27, 19, 15)

test('clock: how far ahead a time may lie (rule 15)', () => {
  const rows: Array<
    [aheadMs: number | null, hold: number, tracktype: Tracktype, explicit: boolean, wrong: boolean]
  > = [
    [null, 30, 'now', false, false],
    [0, 30, 'now', true, false],
    [-86_400_000, 30, 'now', true, false],
    [30_000, 30, 'now', true, false],
    [30_001, 30, 'now', false, true],
    [600_000, 600, 'now', true, false],
    [600_001, 600, 'now', false, true],
    [249, 0, 'now', true, false],
    [250, 0, 'now', false, true],
    [86_400_000, 30, 'next', true, false],
    [null, 30, 'next', false, false],
  ]
  for (const [aheadMs, hold, tracktype, explicit, wrong] of rows) {
    const explicitMs = aheadMs === null ? null : receivedMs + aheadMs
    const judged = judgeClock(explicitMs, receivedMs, hold, tracktype)
    assert.equal(judged.explicit, explicit, String(aheadMs))
    assert.equal(judged.startMs, explicit ? explicitMs : receivedMs, String(aheadMs))
    assert.equal(judged.warning !== null, wrong, String(aheadMs))
  }
})

test('clock: the warning names the pushed time', () => {
  const { warning } = judgeClock(Date.UTC(2100, 0, 1), receivedMs, 30, 'now')
  assert.match(warning ?? '', /2100-01-01T00:00:00Z/)
})
