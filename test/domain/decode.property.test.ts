import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeJsonBody } from '../../src/domain/body.ts'
import { decodeObject, type PushBody } from '../../src/domain/decode.ts'
import type { Element } from '../../src/domain/event.ts'
import type { Decoded } from '../../src/domain/normalise.ts'
import { cleanText } from '../../src/domain/text.ts'
import { decodeQuery } from '../helpers/pushes.ts'

const facts = { arrivalMs: Date.UTC(2026, 11, 1, 12), zone: 'Europe/Berlin' }

const title = fc.string({ unit: 'grapheme', maxLength: 40 }).map(text => cleanText(text).trim())
const texts = fc.record({ song: title, artist: title, album: title })
const element = fc.record({
  ...Object.fromEntries(['song', 'artist', 'album'].map(name => [name, title])),
  duration: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  etype: fc.integer(),
  time: fc.integer({ min: 1, max: 4_000_000_000 }),
})

function assertSound(decoded: Decoded): void {
  if (!decoded.ok) {
    assert.ok(decoded.errors.length > 0)
    return
  }
  const text = JSON.stringify(decoded)
  assert.equal(Buffer.from(text, 'utf8').toString('utf8'), text)
  const { song, artist, album, id, separator, isrc, cover, duration, etype } = decoded.element
  for (const part of [song, artist, album, id, separator, isrc, cover]) {
    assert.equal(Buffer.from(part, 'utf8').toString('utf8'), part)
    assert.equal(cleanText(part), part)
  }
  assert.ok(Number.isInteger(duration) && duration >= 0 && Number.isInteger(etype) && separator !== '')
}

test('decode: any bytes of a query give a sound element or errors, never a throw', () => {
  const name = fc.constantFrom(
    'song',
    'artist',
    'encoding',
    'duration',
    'time',
    'tracktype',
    'etype',
    'id',
    'cover',
  )
  const bytes = fc.uint8Array({ maxLength: 30 }).map(bytes => Buffer.from(bytes).toString('latin1'))
  const parameter = fc.tuple(name, bytes).map(([name, bytes]) => `${name}=${bytes}`)
  const raw = fc.oneof(
    bytes,
    fc.array(parameter).map(parameters => parameters.join('&')),
  )
  fc.assert(fc.property(raw, raw => assertSound(decodeQuery(raw, facts))))
})

test('decode: any values of a body give a sound element or errors, never a throw', () => {
  const names: Array<keyof PushBody> = [
    'id',
    'time',
    'cover',
    'images',
    'album',
    'separator',
    'timezone',
    'etype',
  ]
  const optional = fc.dictionary(
    fc.constantFrom(...names, 'tracktype', 'isrc', 'extdata', 'externalid'),
    fc.jsonValue(),
  )
  const text = fc.option(fc.string({ unit: 'binary' }))
  const mandatory = fc.record({ song: text, artist: text, duration: fc.oneof(fc.double(), text) })
  fc.assert(
    fc.property(mandatory, optional, (mandatory, optional) => {
      const body = decodeJsonBody(Buffer.from(JSON.stringify({ ...optional, ...mandatory })))
      if (body.ok) assertSound(decodeObject(body.value as PushBody, body.text, facts))
    }),
  )
})

test('decode: what was encoded for a query comes back', () => {
  fc.assert(
    fc.property(element, fc.boolean(), (pushed, plus) => {
      const query = new URLSearchParams()
      for (const [name, value] of Object.entries(pushed)) query.set(name, String(value))
      const raw = plus ? query.toString() : query.toString().replaceAll('+', '%20')
      assertSame(decodeQuery(raw, facts), pushed)
    }),
  )
})

test('decode: raw UTF-8 comes back, and windows-1252 under its name', () => {
  const safe = (text: string) =>
    text.replace(/[%&+]/g, character => `%${character.charCodeAt(0).toString(16)}`)
  fc.assert(
    fc.property(texts, ({ song, artist }) => {
      const raw = Buffer.from(`song=${safe(song)}&artist=${safe(artist)}`).toString('latin1')
      const decoded = decodeQuery(raw, facts)
      assert.ok(decoded.ok)
      assert.deepEqual([decoded.element.song, decoded.element.artist], [song, artist])
    }),
  )
  const latin = fc.string({
    unit: fc.integer({ min: 0xa1, max: 0xff }).map(code => String.fromCharCode(code)),
  })
  fc.assert(
    fc.property(latin, song => {
      const decoded = decodeQuery(`encoding=windows&song=${song}`, facts)
      assert.ok(decoded.ok)
      assert.equal(decoded.element.song, cleanText(song))
      assert.deepEqual(decoded.warnings, [])
    }),
  )
})

test('decode: what was encoded as JSON comes back, external data byte for byte', () => {
  fc.assert(
    fc.property(element, fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (pushed, extdata) => {
      const source = JSON.stringify({ ...pushed, extdata }, null, 1)
      const body = decodeJsonBody(Buffer.from(source))
      assert.ok(body.ok)
      const decoded = decodeObject(body.value as PushBody, body.text, facts)
      assertSame(decoded, pushed)
      assert.equal(decoded.ok && decoded.element.extdata, JSON.stringify(extdata))
    }),
  )
})

function assertSame(decoded: Decoded, pushed: Partial<Element> & { time?: number }): void {
  assert.ok(decoded.ok)
  const { song, artist, album, duration, etype } = decoded.element
  const { time, ...fields } = pushed
  assert.deepEqual({ song, artist, album, duration, etype }, { ...fields })
  assert.equal(decoded.time.explicitMs, (time ?? 0) * 1000)
  assert.deepEqual(decoded.warnings, [])
}
