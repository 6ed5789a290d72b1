// What is read of a value without looking at all of it is what stands in it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeRecord, type MetadataRecord, makeRecord } from '../../src/domain/record.ts'
import { initialState } from '../../src/domain/state.ts'
import { encodeValue, readShown, readValue } from '../../src/domain/value.ts'

/** Texts and objects that look like what the reader searches for. */
const words = [
  'xternalid":',
  '"externalid":null,"extdata":null}',
  ',"next":',
  ',"send":["now"]',
  '"stationkey":"other"',
  '\\',
  '"',
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'grapheme' })), { maxLength: 4 })
  .map(parts => parts.join(''))
const extra = fc.constantFrom(
  null,
  '{}',
  '{"externalid":null,"extdata":null}',
  '{"a":{"externalid":null,"extdata":null},"stationkey":"other","send":[]}',
  '{"n":12345678901234567890}',
)
const externalid = fc.oneof(extra, fc.constantFrom('"x"', '"externalid"'))

const record = (type: 'now' | 'next') =>
  fc.record({ song: text, artist: text, extdata: extra, externalid }).map(
    ({ song, artist, extdata, externalid }): MetadataRecord =>
      makeRecord({
        channelkey: 'c',
        type,
        startMs: 1_800_000_000_000,
        source: 'metapush',
        element: {
          id: 'i',
          song,
          artist,
          album: song,
          cover: '',
          images: { small: { url: 'https://x.example/"externalid":' } },
          separator: ' - ',
          isrc: '',
          duration: 0,
          etype: 0,
          extdata,
          externalid,
        },
        context: {
          revision: 1,
          stationkey: 'own_station',
          station: song,
          channel: artist,
          timezone: 'UTC',
          cover: '',
          holdSeconds: 30,
          fallback: null,
          announceNext: true,
        },
      }),
  )

test('a value is read as it was written, whatever its texts and free data look like', () => {
  const maybe = (type: 'now' | 'next') => fc.option(record(type), { nil: null })
  fc.assert(
    fc.property(maybe('now'), maybe('next'), fc.subarray(['next', 'now'] as const), (now, next, send) => {
      const change = {
        now,
        next,
        send: [...send],
        play: null,
        warnings: [],
        removed: false,
        state: initialState,
      }
      const json = encodeValue(change, { event: 7, done: true, prev: 3 }, { now: 'n', next: 'x' })
      const raw = (record: MetadataRecord | null, position: string) =>
        record && encodeRecord(record, position)
      assert.deepEqual(readValue(json), {
        event: 7,
        done: true,
        prev: 3,
        send,
        nowJson: raw(now, 'n'),
        nextJson: raw(next, 'x'),
        nextIsEmpty: next !== null && next.song === '' && next.artist === '',
      })
      const shown = (record: MetadataRecord | null, position: string) =>
        record && { bytes: Buffer.from(encodeRecord(record, position)), stationkey: 'own_station' }
      assert.deepEqual(readShown(Buffer.from(json)), {
        send,
        now: shown(now, 'n'),
        next: shown(next, 'x'),
        nextIsEmpty: next !== null && next.song === '' && next.artist === '',
      })
    }),
  )
})
