import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeObject, type PushBody } from '../../src/domain/decode.ts'
import type { ElementField } from '../../src/domain/event.ts'
import { type Decoded, maxIdBytes } from '../../src/domain/normalise.ts'
import { maxTextCharacters } from '../../src/domain/text.ts'
import { decodeQuery, emptyElement } from '../helpers/pushes.ts'

const facts = { arrivalMs: Date.UTC(2026, 11, 1, 12), zone: 'Europe/Berlin' }

function get(raw: string) {
  return accepted(decodeQuery(raw, facts), raw)
}

/** A JSON body, song, artist and duration given unless they are in `source`. */
function post(source: string) {
  return accepted(decodePost(source), source)
}

function decodePost(source: string): Decoded {
  const body = { song: '', artist: '', duration: 0, ...JSON.parse(source) } as PushBody
  return decodeObject(body, source, facts)
}

function accepted(decoded: Decoded, source: string) {
  assert.ok(decoded.ok, `${source}: ${JSON.stringify(decoded)}`)
  const warned = decoded.warnings.map(warning => warning.slice(0, warning.indexOf(':')))
  return { ...decoded, warned }
}

function fieldsAtFault(decoded: Decoded): string[] {
  assert.ok(!decoded.ok)
  for (const error of decoded.errors) assert.ok(error.message.length > 0)
  return decoded.errors.map(error => error.field).sort()
}

test('decode: a GET without a query is valid (rule 3)', () => {
  assert.deepEqual(decodeQuery('', facts), {
    ok: true,
    element: emptyElement,
    given: [],
    tracktype: 'now',
    time: { explicitMs: null },
    warnings: [],
  })
})

test('decode: every parameter of a GET (spec 4.1, rule 4)', () => {
  const raw =
    'song=S&artist=A&encoding=utf8&duration=3:45&time=1795806900&tracktype=next&etype=News&id=+i+&isrc=X&separator=+|+' +
    '&album=L&cover=https%3A%2F%2Fa%2Fb.jpg&externalid=E&unknown=1&Song=no'
  const { element, given, tracktype, time, warnings } = get(raw)
  assert.deepEqual(element, {
    ...emptyElement,
    id: 'i',
    song: 'S',
    artist: 'A',
    album: 'L',
    cover: 'https://a/b.jpg',
    separator: ' | ',
    isrc: 'X',
    duration: 225,
    etype: 104,
    externalid: '"E"',
  })
  assert.equal(given.join(), 'id,song,artist,album,cover,separator,isrc,duration,etype,externalid')
  assert.equal(tracktype, 'next')
  assert.equal(time.explicitMs, 1795806900000)
  assert.deepEqual(warnings, [])
})

test('decode: the encoding governs song and artist only (rule 4)', () => {
  const windows = get('encoding=Latin1&song=%C3%A9&artist=%92&album=%C3%A9')
  assert.deepEqual([windows.element.song, windows.element.artist, windows.element.album], ['Ã©', '’', 'é'])
  assert.deepEqual(windows.warned, [])
  const guessed = get('song=%E9&artist=%C3%A9&album=\xe9&externalid=%E9')
  assert.deepEqual([guessed.element.song, guessed.element.artist, guessed.element.album], ['é', 'é', 'é'])
  assert.equal(guessed.element.externalid, '"é"')
  assert.deepEqual(guessed.warned, ['externalid', 'song', 'album'])
  const unknown = get('encoding=ebcdic&song=%C3%A9')
  assert.equal(unknown.element.song, 'é')
  assert.deepEqual(unknown.warned, ['encoding'])
})

test('decode: blanks around texts are cut, those of a separator kept (rule 5)', () => {
  const { element } = get('song=%C2%A0+S%0A&artist=%09A+&album=+L+&separator=+%2F+&isrc=+I+&id=+1+')
  assert.deepEqual(
    [element.song, element.artist, element.album, element.separator, element.isrc, element.id],
    ['S', 'A', 'L', ' / ', 'I', '1'],
  )
  assert.equal(get('separator=').element.separator, ' - ')
  assert.equal(get('separator=%00').element.separator, ' - ')
  assert.equal(get('separator=+').element.separator, ' ')
  assert.deepEqual(get('separator=').given, [])
  assert.deepEqual(get('separator=+-+').given, ['separator'])
})

test('decode: texts are cut at the limit, with a warning (rule 5)', () => {
  const atLimit = 'x'.repeat(maxTextCharacters)
  for (const field of ['song', 'artist', 'album', 'separator', 'isrc'] as const) {
    assert.deepEqual(get(`${field}=${atLimit}`).warned, [], field)
    const cut = get(`${field}=${atLimit}y`)
    assert.equal(cut.element[field], atLimit, field)
    assert.deepEqual(cut.warned, [field])
  }
  assert.deepEqual(get(`song=+${atLimit}+`).warned, [], 'blanks that are cut off do not count')
})

test('decode: an id is kept at the limit, refused one past it', () => {
  const atLimit = 'ü'.repeat((maxIdBytes - 1) / 2)
  assert.equal(get(`id=x${encodeURIComponent(atLimit)}`).element.id, `x${atLimit}`)
  assert.deepEqual(fieldsAtFault(decodeQuery(`id=xy${encodeURIComponent(atLimit)}`, facts)), ['id'])
})

test('decode: every field at fault is named', () => {
  const raw = 'duration=-1&time=noon&tracktype=current&etype=1.5&id='
  assert.deepEqual(fieldsAtFault(decodeQuery(raw + 'x'.repeat(256), facts)), [
    'duration',
    'etype',
    'id',
    'time',
    'tracktype',
  ])
  const source = JSON.stringify({
    duration: '3:45',
    time: 'noon',
    tracktype: 1,
    etype: true,
    album: 5,
    extdata: [],
    externalid: 7,
  })
  assert.deepEqual(fieldsAtFault(decodePost(source)), [
    'album',
    'duration',
    'etype',
    'extdata',
    'externalid',
    'time',
    'tracktype',
  ])
})

test('decode: every field of a POST (spec 2.1)', () => {
  const source = `{
    "id": "i", "time": "2026-11-27T20:15:00", "timezone": "UTC", "duration": 8.5, "song": "S", "artist": "A",
    "cover": "https://a/b.jpg", "images": {"small": {"url": "https://a/s.jpg"}, "large": {"url": ""}}, "album": "L",
    "separator": " / ", "etype": "Music 3", "tracktype": "NEXT", "isrc": "X", "bpm": 120, "Song": "no",
    "extdata": {"z": 12345678901234567890, "2": [1 , 2.50], "1": "a  b"}, "externalid": {"b": "1", "a": "2"}
  }`
  const { element, given, tracktype, time, warnings } = post(source)
  assert.deepEqual(element, {
    id: 'i',
    song: 'S',
    artist: 'A',
    album: 'L',
    cover: 'https://a/b.jpg',
    images: { small: { url: 'https://a/s.jpg' } },
    separator: ' / ',
    isrc: 'X',
    duration: 9,
    etype: 1003,
    extdata: '{"z":12345678901234567890,"2":[1,2.50],"1":"a  b"}',
    externalid: '{"b":"1","a":"2"}',
  })
  assert.deepEqual([...given].sort(), (Object.keys(emptyElement) as ElementField[]).sort())
  assert.equal(tracktype, 'next')
  assert.equal(time.explicitMs, Date.UTC(2026, 10, 27, 20, 15))
  assert.deepEqual(warnings, [])
})

test('decode: null and empty give nothing (rule 9)', () => {
  const nulls = Object.fromEntries(
    [...Object.keys(emptyElement), 'time', 'timezone', 'tracktype'].map(k => [k, null]),
  )
  const empty =
    '{"id":"","cover":"","images":{},"album":"","separator":"","isrc":"","externalid":"","duration":""}'
  for (const source of [JSON.stringify(nulls), empty]) {
    const { element, given, tracktype, time, warnings } = post(source)
    assert.deepEqual(element, emptyElement)
    assert.deepEqual(given, [])
    assert.equal(tracktype, 'now')
    assert.equal(time.explicitMs, null)
    assert.deepEqual(warnings, [])
  }
})

test('decode: empty objects pass but give nothing', () => {
  const { element, given } = post('{"extdata": { }, "externalid": {}}')
  assert.deepEqual([element.extdata, element.externalid], ['{}', '{}'])
  assert.deepEqual(given, [])
})

test('decode: numbers for id, time and etype', () => {
  const { element, time } = post('{"id": 12345678901234567890, "time": 1795806900.75, "etype": 1e3}')
  assert.equal(element.id, '12345678901234567890')
  assert.equal(element.etype, 1000)
  assert.equal(time.explicitMs, 1795806900000)
  assert.equal(post('{"id": 41}').element.id, '41')
  assert.deepEqual(fieldsAtFault(decodePost('{"etype": 1.5, "time": 1e99}')), ['etype', 'time'])
})

test('decode: an etype of 0 that was given is a value', () => {
  assert.deepEqual(post('{"etype": 0}').given, ['etype'])
  assert.deepEqual(get('etype=').given, [])
})

test('decode: only http and https addresses are kept, others dropped with a warning (rule 9)', () => {
  const dropped = post(
    '{"cover": "javascript:alert(1)", "images": {"small": {"url": "data:x"}, "medium": "x"}}',
  )
  assert.deepEqual([dropped.element.cover, dropped.element.images], ['', null])
  assert.deepEqual(dropped.warned, ['images.small', 'images.medium', 'cover'])
  assert.deepEqual(dropped.given, [])
  assert.deepEqual(get('cover=+http%3A%2F%2Fa+').element.cover, 'http://a')
})

test('decode: texts of a body are cleaned too, external data is not (rules 5 and 9)', () => {
  const source = String.raw`{"song":"a\u0000\ud800b\r\n","extdata":{"k":"\u0000\ud800"},"externalid":"\u0007"}`
  const { element } = post(source)
  assert.equal(element.song, 'a\ufffdb')
  assert.equal(element.extdata, String.raw`{"k":"\u0000\ud800"}`)
  assert.equal(element.externalid, String.raw`"\u0007"`)
})

test('decode: of a repeated key the last counts, in the source too', () => {
  const { element } = post('{"extdata":{"a":1},"extdata":{"b":2},"song":"One","song":"Two"}')
  assert.deepEqual([element.song, element.extdata], ['Two', '{"b":2}'])
})
