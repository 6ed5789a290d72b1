import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJsonBody } from '../../src/domain/body.ts'
import { judgeClock } from '../../src/domain/clock.ts'
import { decodeObject, type PushBody } from '../../src/domain/decode.ts'
import type { ChannelContext } from '../../src/domain/event.ts'
import type { Decoded } from '../../src/domain/normalise.ts'
import { encodeRecord, makeRecord, textOf } from '../../src/domain/record.ts'
import { decodeQuery } from '../helpers/pushes.ts'
import { type PushRow, pushRows } from './pushes.ts'

const arrivalMs = Date.UTC(2026, 11, 1, 12)
const facts = { arrivalMs, zone: 'Europe/Berlin' }
const context: ChannelContext = {
  revision: 1,
  stationkey: 'st',
  station: 'Station',
  channel: 'Channel',
  timezone: facts.zone,
  cover: '',
  holdSeconds: 30,
  fallback: null,
  announceNext: true,
}

function decode(row: PushRow): Decoded {
  if (row.query !== undefined) return decodeQuery(row.query, facts)
  const body = decodeJsonBody(Buffer.from(row.body ?? '', 'latin1'), row.charset)
  if (!body.ok) return { ok: false, errors: [{ field: 'body', message: body.message }] }
  return decodeObject(body.value as PushBody, body.text, facts)
}

for (const row of pushRows) {
  test(`push: ${row.name}`, () => {
    const decoded = decode(row)
    if (!decoded.ok) {
      assert.deepEqual(
        decoded.errors.map(error => error.field),
        row.refused,
      )
      return
    }
    assert.equal(row.refused, undefined)
    const { element, tracktype, time } = decoded
    const { startMs } = judgeClock(time.explicitMs, arrivalMs, context.holdSeconds, tracktype)
    const facts = { channelkey: 'ck', type: tracktype, element, startMs, context }
    const record = makeRecord({ ...facts, source: 'metapush' })
    const delivered = JSON.parse(encodeRecord(record, ''))
    assert.deepEqual({ ...delivered, ...row.record }, delivered)
    if (row.text !== undefined) assert.equal(textOf(record), row.text)
  })
}
