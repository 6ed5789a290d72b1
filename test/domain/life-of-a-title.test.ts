// Plays the stories of docs/life-of-a-title.md: the page is the test.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isEmptyNext, type MetadataRecord, textOf } from '../../src/domain/record.ts'
import { readTime } from '../../src/domain/time.ts'
import { inRoot } from '../helpers/root.ts'
import { Story, type Told, zeroMs } from '../helpers/story.ts'

const page = readFileSync(inRoot('docs/life-of-a-title.md'), 'utf8')
const blocks = [...page.matchAll(/^## (.+)$|^```story ?(.*)\n([\s\S]*?)^```$/gm)]

let title = ''
let part = 0
for (const [, heading, options, body] of blocks) {
  if (heading !== undefined) {
    title = heading
    part = 0
    continue
  }
  test(`${title}${part++ === 0 ? '' : ` (${part})`}`, () => playStory(options ?? '', body ?? ''))
}

test('the page tells every story', () => assert.ok(blocks.filter(block => block[3]).length >= 20))

function playStory(optionText: string, body: string): void {
  const options = assignments(optionText)
  const zone = options['zone'] ?? 'UTC'
  const day = Date.parse(`${options['date'] ?? '2026-11-27'}T00:00:00Z`)
  const [fallbackArtist = '', fallbackSong = ''] = (options['fallback'] ?? '').split(' - ')
  const story = new Story({
    timezone: zone,
    fallback: options['fallback']
      ? {
          artist: fallbackArtist,
          song: fallbackSong,
          afterSeconds: Number(options['after']),
          unknownAfterSeconds: Number(options['unknownAfter']),
        }
      : null,
  })
  const clock = (text: string) => day + text.split(':').reduce((sum, n) => sum * 60 + Number(n), 0) * 1000
  for (const line of body.trim().split('\n')) {
    const [, time = '', told = '', expected = ''] = /^(\S+) +(.*?) +-> (.*)$/.exec(line) ?? assert.fail(line)
    const atMs = clock(time)
    const at = (atMs - zeroMs) / 1000
    const before = story.changes.length
    const [, kind, text = '', fields = ''] =
      /^(now|next|wait) ?(.*?)((?: \S+=\S+)*)$/.exec(told.replace(/ +/g, ' ')) ?? assert.fail(told)
    if (kind === 'wait') story.until(at)
    else
      story.push(
        kind as 'now' | 'next',
        at,
        text === '-' ? '' : text,
        toldBy(assignments(fields), clock, atMs, zone),
      )
    const sent = story.changes
      .slice(before)
      .flatMap(change => change.send.map(type => change[type] ?? assert.fail()))
    assert.equal(
      sent.length === 0
        ? 'nothing'
        : sent.map((r, i) => inWords(r, expected.split(', ')[i] ?? '')).join(', '),
      expected,
      line,
    )
  }
}

/** A record as the page writes it; its start where the page names one. */
function inWords(record: MetadataRecord, expected: string): string {
  if (isEmptyNext(record)) return 'next none'
  const start = / from /.test(expected) ? ` from ${record.start.slice(11)}` : ''
  return `${record.type} ${textOf(record) || 'silence'}${start}`
}

function toldBy(
  fields: { [name: string]: string },
  clock: (text: string) => number,
  arrivalMs: number,
  zone: string,
): Told {
  const { time, duration, etype, ...rest } = fields
  const told: Told = { ...rest }
  if (duration !== undefined) told.duration = Number(duration)
  if (etype !== undefined) told.etype = Number(etype)
  if (time === undefined) return told
  if (!time.includes('T')) return { ...told, time: (clock(time) - zeroMs) / 1000 }
  const reading = readTime(time, { arrivalMs, zone, pushedZone: '' })
  return {
    ...told,
    time:
      reading.ok && reading.explicitMs !== null ? (reading.explicitMs - zeroMs) / 1000 : assert.fail(time),
  }
}

/** `a=b c=d e` → { a: 'b', c: 'd e' }: a value reaches to the next name. */
function assignments(text: string): { [name: string]: string } {
  const found = [...text.matchAll(/(\w+)=(.*?)(?= \w+=|$)/g)]
  return Object.fromEntries(found.map(([, name, value]) => [name, value?.trim()]))
}
