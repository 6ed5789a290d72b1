import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../src/domain/query.ts'
import { decodeUpdinfo, splitTitle } from '../../src/domain/updinfo.ts'

const facts = { arrivalMs: Date.UTC(2026, 10, 27, 19, 15), zone: 'UTC' }

function decode(raw: string) {
  const parameters = parseQuery(raw)
  assert.ok(parameters !== null)
  const decoded = decodeUpdinfo(parameters, facts)
  assert.ok(decoded.ok)
  const { artist, song, duration } = decoded.element
  return { artist, song, duration, warnings: decoded.warnings.length, given: decoded.given.join() }
}

test('updinfo: a title is split at the first " - " only (rule 30)', () => {
  const rows: Array<[title: string, artist: string, song: string]> = [
    ['Artist - Song', 'Artist', 'Song'],
    ['Artist - Song - Edit', 'Artist', 'Song - Edit'],
    ['Jean-Luc Marsh - Slow-Tide', 'Jean-Luc Marsh', 'Slow-Tide'],
    ['Evening Bulletin', '', 'Evening Bulletin'],
    [' - Song', '', 'Song'],
    ['Artist - ', 'Artist', ''],
    ['Artist -Song', '', 'Artist -Song'],
    ['Artist – Song', '', 'Artist – Song'],
    ['  -  ', ' ', ' '],
    ['', '', ''],
  ]
  for (const [title, artist, song] of rows) assert.deepEqual(splitTitle(title), { artist, song }, title)
})

test('updinfo: what encoders send (rule 30)', () => {
  const both = { artist: 'Lio', song: 'Wave', duration: 0, warnings: 0, given: 'song,artist' }
  assert.deepEqual(decode('mode=updinfo&mount=/ck&song=Lio+-+Wave'), both)
  assert.deepEqual(decode('mode=updinfo&song=Lio%20-%20Wave&duration=99'), both)
  assert.deepEqual(decode('artist=Lio&title=Wave'), both)
  assert.deepEqual(decode('artist=Lio&song=Wave'), both)
  assert.deepEqual(decode('title=Lio+-+Wave'), { ...both, artist: '', song: 'Lio - Wave', given: 'song' })
  assert.deepEqual(decode('song=+-+'), { ...both, artist: '', song: '', given: '' })
  assert.deepEqual(decode('song= - Wave '), { ...both, artist: '', given: 'song' })
})

test('updinfo: the charset wins, else UTF-8 if valid, else windows-1252 (rule 30)', () => {
  const umlaut = { artist: 'Zoë', song: 'Grüße', duration: 0, warnings: 0, given: 'song,artist' }
  assert.deepEqual(decode('song=Zo%C3%AB+-+Gr%C3%BC%C3%9Fe'), umlaut)
  assert.deepEqual(decode('song=Zo%EB+-+Gr%FC%DFe&charset=ISO-8859-1'), umlaut)
  assert.deepEqual(decode('song=Zo%EB+-+Gr%FC%DFe'), { ...umlaut, warnings: 1 })
  assert.deepEqual(decode('song=Zo%EB+-+Gr%FC%DFe&charset=utf-8'), { ...umlaut, warnings: 1 })
  assert.deepEqual(decode('song=Zo%EB+-+Gr%FC%DFe&charset=klingon&encoding=windows'), {
    ...umlaut,
    warnings: 2,
  })
  assert.deepEqual(decode('song=%C3%C8&charset=windows-1251'), {
    ...umlaut,
    artist: '',
    song: 'ГИ',
    given: 'song',
  })
})
