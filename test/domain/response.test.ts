import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Element } from '../../src/domain/event.ts'
import { makeResponse } from '../../src/domain/response.ts'

const element: Element = {
  id: 'a-1',
  song: 'Song',
  artist: 'Artist',
  album: 'Album',
  cover: 'https://a/b.jpg',
  images: null,
  separator: ' | ',
  isrc: 'QZ-ABC-26-00017',
  duration: 225,
  etype: 1003,
  extdata: '{}',
  externalid: null,
}

test('response: the object of spec 2.2, exactly (rule 2)', () => {
  const facts = {
    channelkey: 'ck',
    element,
    startMs: Date.UTC(2026, 6, 1, 22, 30, 5) + 999,
    tracktype: 'next' as const,
    context: { timezone: 'Europe/Berlin' },
    warnings: [],
  }
  const response = makeResponse(facts)
  assert.deepEqual(response, {
    time: '2026-07-01T22:30:05Z',
    start: '02.07.2026 00:30:05',
    start_timestamp: 1782945005,
    duration: 225,
    song: 'Song',
    artist: 'Artist',
    code: 'ck',
    channelkey: 'ck',
    timezone: 'Europe/Berlin',
    channel: 'ck',
    id: 'a-1',
    userplayout: false,
    separator: ' | ',
    etype: 1003,
    album: 'Album',
    type: 'next',
    isrc: 'QZ-ABC-26-00017',
  })
  assert.deepEqual(makeResponse({ ...facts, userplayout: true, warnings: ['w'] }), {
    ...response,
    userplayout: true,
    warnings: ['w'],
  })
})
