import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeRecord, encodeRecord, type MetadataRecord, makeRecord } from '../../src/domain/record.ts'
import { stamped, stampOf, templateOf } from '../../src/domain/stamp.ts'

const awkward = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"session":""', ',"mount":""', '\\', '"', '\\"session\\":\\"\\"', 'ü 東 🎸', '\u2028'),
)

function recordOf(texts: string[], extdata: string | null): MetadataRecord {
  const [song = '', artist = '', channel = '', id = ''] = texts
  return makeRecord({
    channelkey: 'main',
    type: 'now',
    startMs: 1_800_000_000_000,
    source: 'metapush',
    element: {
      id,
      song,
      artist,
      album: '',
      cover: '',
      images: null,
      separator: ' - ',
      isrc: '',
      duration: 1,
      etype: 0,
      extdata,
      externalid: extdata,
    },
    context: {
      revision: 1,
      stationkey: 'radio',
      station: channel,
      channel,
      timezone: 'UTC',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
    },
  })
}

test('a stamped record is the record with session and mount, whatever its texts and data hold (rule 28)', () => {
  const extdata = fc.option(awkward.map(text => JSON.stringify({ session: '', mount: '', [text]: text })))
  fc.assert(
    fc.property(
      fc.array(awkward, { minLength: 4 }),
      extdata,
      awkward,
      awkward,
      (texts, data, session, mount) => {
        const record = recordOf(texts, data)
        const stamp = stampOf({ session, mount })
        const template = templateOf(Buffer.from(encodeRecord(record, 'position')))
        const made = stamp === null ? record : decodeRecord(Buffer.from(stamped(template, stamp)).toString())
        // What JSON cannot hold (lone surrogates) becomes U+FFFD in UTF-8 on both ways.
        const asUtf8 = (of: MetadataRecord) => decodeRecord(Buffer.from(encodeRecord(of, '')).toString())
        assert.deepEqual(asUtf8(made), asUtf8({ ...record, session, mount }))
      },
    ),
  )
})

test('without both texts there is no stamp; a record that has them already is refused', () => {
  assert.equal(stampOf({ session: '', mount: '' }), null)
  assert.notEqual(stampOf({ session: '', mount: '/x' }), null)
  assert.throws(() => templateOf(Buffer.from('{"session":"x","mount":""}')), /session and mount/)
})
