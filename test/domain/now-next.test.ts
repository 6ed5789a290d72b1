import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Story } from '../helpers/story.ts'

/** name, story, what listeners were sent ("second type text"), and what the plays were called where that matters. */
type Row = [name: string, story: (s: Story) => Story, sent: string[], plays?: string[]]

function table(title: string, rows: Row[], context: ConstructorParameters<typeof Story>[0] = {}): void {
  for (const [name, tell, sent, plays] of rows) {
    test(`${title}: ${name}`, () => {
      const story = tell(new Story(context))
      assert.deepEqual(story.sent, sent)
      if (plays) assert.deepEqual(story.plays, plays)
    })
  }
}

const twice = ['0 now A - One']
const both = (at: number) => ['0 now A - One', `${at} now A - One`]

table('rule 13, repeat', [
  [
    'same text in time',
    s => s.now(0, 'A - One', { duration: 60 }).now(20, 'A - One', { duration: 60 }),
    twice,
  ],
  ['just before end + 10 s', s => s.now(0, 'A - One', { duration: 60 }).now(69.9, 'A - One'), twice],
  ['at end + 10 s it plays again', s => s.now(0, 'A - One', { duration: 60 }).now(70, 'A - One'), both(70)],
  ['duration 0: at any time', s => s.now(0, 'A - One').now(90_000, 'A - One'), twice],
  [
    'another id plays again',
    s => s.now(0, 'A - One', { id: '1', duration: 60 }).now(20, 'A - One', { id: '2' }),
    both(20),
  ],
  [
    'an id missing on one side',
    s => s.now(0, 'A - One', { id: '1', duration: 60 }).now(20, 'A - One'),
    twice,
  ],
  [
    'explicit times 15 s apart',
    s => s.now(0, 'A - One', { time: 0, duration: 60 }).now(20, 'A - One', { time: 15 }),
    twice,
  ],
  [
    'explicit times 16 s apart',
    s => s.now(0, 'A - One', { time: 0, duration: 60 }).now(20, 'A - One', { time: 16 }),
    both(20),
  ],
  [
    'equal explicit times, long after the end',
    s => s.now(0, 'A - One', { time: 0, duration: 60 }).now(7000, 'A - One', { time: 0 }),
    twice,
  ],
  [
    'hot standby: within 15 s, whatever id and time',
    s => s.now(0, 'A - One', { id: '1', time: 0, duration: 60 }).now(15, 'A - One', { id: '2', time: -40 }),
    twice,
  ],
  [
    'hot standby: after 15 s no longer',
    s => s.now(0, 'A - One', { id: '1', duration: 60 }).now(15.1, 'A - One', { id: '2' }),
    both(15.1),
  ],
  [
    'a slow clock is reckoned from arrival',
    s => s.now(0, 'A - One', { time: -3600, duration: 60 }).now(30, 'A - One'),
    twice,
  ],
  [
    'other capitals are another text',
    s => s.now(0, 'A - One').now(5, 'A - ONE'),
    ['0 now A - One', '5 now A - ONE'],
  ],
])

table('rule 13, correction', [
  [
    'a cover that comes second',
    s => s.now(0, 'A - One', { duration: 60 }).now(5, 'A - One', { cover: 'https://c.example/1' }),
    both(5),
    ['new A - One', 'correction A - One'],
  ],
  ['of a duration', s => s.now(0, 'A - One', { duration: 60 }).now(5, 'A - One', { duration: 61 }), both(5)],
  [
    'a typo: same id, artist equal, while it lasts',
    s => s.now(0, 'A - Onr', { id: 'x', duration: 60 }).now(5, 'A - One', { id: 'x' }),
    ['0 now A - Onr', '5 now A - One'],
    ['new A - Onr', 'correction A - One'],
  ],
  [
    'same id, but it has ended',
    s => s.now(0, 'A - Onr', { id: 'x', duration: 60 }).now(60, 'A - One', { id: 'x' }),
    ['0 now A - Onr', '60 now A - One'],
    ['new A - Onr', 'new A - One'],
  ],
  [
    'same id, unknown duration: within 10 minutes',
    s => s.now(0, 'A - Onr', { id: 'x' }).now(599, 'A - One', { id: 'x' }),
    ['0 now A - Onr', '599 now A - One'],
    ['new A - Onr', 'correction A - One'],
  ],
  [
    'same id and texts, other explicit time: begun again, a new play',
    s => s.now(0, 'A - One', { id: 'x', time: 0, duration: 60 }).now(30, 'A - One', { id: 'x', time: 30 }),
    ['0 now A - One', '30 now A - One'],
    ['new A - One', 'new A - One'],
  ],
  [
    'same id, another song, no artist on either side: a new play',
    s => s.now(0, 'One', { id: 'x', duration: 60 }).now(30, 'Two', { id: 'x' }),
    ['0 now One', '30 now Two'],
    ['new One', 'new Two'],
  ],
  [
    'same id, both texts other: a new play',
    s => s.now(0, 'A - One', { id: '7' }).now(5, 'B - Two', { id: '7' }),
    ['0 now A - One', '5 now B - Two'],
    ['new A - One', 'new B - Two'],
  ],
  [
    'same id, same explicit time, both texts other',
    s => s.now(0, 'A - One', { id: '7', time: 0 }).now(5, 'B - Two', { id: '7', time: 0 }),
    ['0 now A - One', '5 now B - Two'],
    ['new A - One', 'correction B - Two'],
  ],
  [
    'an unknown duration takes nothing back',
    s => s.now(0, 'A - One', { duration: 60 }).now(5, 'A - One', { duration: 0 }),
    twice,
  ],
])

test('rule 13: a correction keeps id and start, and what it does not bring', () => {
  const story = new Story().now(0, 'A - One', { id: 'x', album: 'Blue', etype: 1001, duration: 60 })
  story.now(8, 'A - One', { cover: 'https://c.example/1', id: 'x' })
  const { record } = story.state.now ?? assert.fail()
  assert.deepEqual(
    [record.id, record.album, record.etype, record.duration, record.cover, story.shown],
    ['x', 'Blue', 1001, 60, 'https://c.example/1', '0 A - One'],
  )
})

table('rule 14, late', [
  [
    '2 s older while the current one lasts',
    s => s.now(0, 'B - New', { time: 0, duration: 60 }).now(1, 'A - Old', { time: -2 }),
    ['0 now B - New'],
    ['new B - New', 'late A - Old (older)'],
  ],
  [
    '10 min older',
    s => s.now(0, 'B - New', { time: 0, duration: 60 }).now(1, 'A - Old', { time: -600 }),
    ['0 now B - New'],
    ['new B - New', 'late A - Old (older)'],
  ],
  [
    '1.9 s older is a new play',
    s => s.now(0, 'B - New', { time: 0, duration: 60 }).now(1, 'A - Old', { time: -1.9 }),
    ['0 now B - New', '1 now A - Old'],
  ],
  [
    'once the current one has run out it is shown',
    s => s.now(0, 'B - New', { time: 0, duration: 60 }).now(60, 'A - Old', { time: -2 }),
    ['0 now B - New', '60 now A - Old'],
  ],
  [
    'unknown duration: for 10 minutes',
    s =>
      s.now(0, 'B - New', { time: 0 }).now(599, 'A - Old', { time: -2 }).now(600, 'C - Older', { time: -3 }),
    ['0 now B - New', '600 now C - Older'],
  ],
  [
    'an old list sent again',
    s =>
      s
        .now(0, 'A - One', { time: 0 })
        .now(300, 'B - Two', { time: 300 })
        .now(1000, 'C - Three', { time: 1000 })
        .now(1001, 'A - One', { time: 0 }),
    ['0 now A - One', '300 now B - Two', '1000 now C - Three'],
    ['new A - One', 'new B - Two', 'new C - Three', 'late A - One (old list)'],
  ],
  [
    'over 10 min older and never played: a wrong clock',
    s => s.now(0, 'A - One', { time: 0, duration: 60 }).now(10, 'B - Two', { time: -3600 }),
    ['0 now A - One', '10 now B - Two'],
  ],
  [
    'received by the same intake 1 s before the current one',
    s => s.now(5, 'B - New').now(6, 'A - Old', { receivedAt: 4 }),
    ['5 now B - New'],
    ['new B - New', 'late A - Old (overtaken)'],
  ],
  [
    'received 0.9 s before',
    s => s.now(5, 'B - New').now(6, 'A - Old', { receivedAt: 4.1 }),
    ['5 now B - New', '6 now A - Old'],
  ],
  [
    'received before, but by another intake',
    s => s.now(5, 'B - New').now(6, 'A - Old', { receivedAt: 4, intake: 'intake-2' }),
    ['5 now B - New', '6 now A - Old'],
  ],
])

test('rule 14: a wrong clock starts at its arrival and is not explicit; an old time alone is kept', () => {
  const wrong = new Story().now(0, 'A - One', { time: 0, duration: 60 }).now(10, 'B - Two', { time: -3600 })
  assert.equal(wrong.shown, '10 B - Two')
  assert.equal(wrong.state.now?.explicit, false)
  assert.match(wrong.warnings.join(), /wrong clock/)
  assert.equal(new Story().now(10, 'B - Two', { time: -3600 }).shown, '-3600 B - Two')
})

test('receipt: the start of a push without time, unless it is over 15 s from the log', () => {
  assert.equal(new Story().now(10, 'A - One', { receivedAt: -5 }).shown, '-5 A - One')
  assert.equal(new Story().now(10, 'A - One', { receivedAt: -6 }).shown, '10 A - One')
})

table('rule 15, ahead', [
  ['shown at its start', s => s.now(0, 'A - One', { time: 20 }).until(60), ['20 now A - One']],
  ['less than 250 ms ahead: at once', s => s.now(0, 'A - One', { time: 0.249 }), ['0 now A - One']],
  ['250 ms ahead: held', s => s.now(0, 'A - One', { time: 0.25 }).until(1), ['0.25 now A - One']],
  ['at the hold', s => s.now(0, 'A - One', { time: 30 }).until(60), ['30 now A - One']],
  [
    'past the hold: a wrong clock, at once',
    s => s.now(0, 'A - One', { time: 31 }).until(60),
    ['0 now A - One'],
  ],
  [
    'several, in order of start',
    s => s.now(0, 'B - Two', { time: 20 }).now(1, 'A - One', { time: 10 }).until(60),
    ['10 now A - One', '20 now B - Two'],
  ],
  [
    'a later push does not delete it',
    s => s.now(0, 'A - One', { time: 20 }).now(5, 'X - Live').until(60),
    ['5 now X - Live', '20 now A - One'],
  ],
  [
    'one with the same id replaces it',
    s => s.now(0, 'A - One', { id: '1', time: 20 }).now(5, 'B - Two', { id: '1', time: 25 }).until(60),
    ['25 now B - Two'],
  ],
  [
    'one with the same id for now replaces it too',
    s => s.now(0, 'A - One', { id: '1', time: 20 }).now(5, 'A - One', { id: '1' }).until(60),
    ['5 now A - One'],
  ],
  [
    'same id and no text cancels it',
    s => s.now(0, 'A - One', { id: '1', time: 20 }).now(5, '', { id: '1' }).until(60),
    [],
  ],
  [
    'no text with an id that nothing has: silence',
    s => s.now(0, 'A - One', { id: '1', time: 20 }).now(5, '', { id: '2' }).until(60),
    ['5 now ', '20 now A - One'],
  ],
  [
    'same text and start as another held one: a repeat',
    s => s.now(0, 'A - One', { time: 20 }).now(1, 'A - One', { time: 30 }).until(60),
    ['20 now A - One'],
  ],
  [
    'the repeat of a held one may correct it',
    s =>
      s
        .now(0, 'A - One', { time: 20, id: '1' })
        .now(1, 'A - One', { time: 21, duration: 10, id: '2' })
        .until(25)
        .next(25, 'B - Two', { duration: 10 })
        .until(200),
    ['20 now A - One', '25 next B - Two', '100 next '],
    ['new A - One'],
  ],
  [
    'at its start it is judged: the current one again',
    s => s.now(0, 'A - One', { duration: 100 }).now(1, 'A - One', { time: 20 }).until(60),
    ['0 now A - One'],
  ],
  [
    'at its start it is judged: older than the current one',
    s => s.now(0, 'A - One', { time: 20 }).now(0, 'B - Two', { time: 22 }).say(30, { v: 1, kind: 'tick' }),
    ['30 now A - One', '30 now B - Two'],
  ],
  [
    'a late tick shows all that was due',
    s => s.now(0, 'A - One', { time: 5 }).now(0, 'B - Two', { time: 9 }).say(10, { v: 1, kind: 'tick' }),
    ['10 now A - One', '10 now B - Two'],
  ],
])

test('rule 15: 32 are held, the one furthest ahead of 33 is logged as not shown', () => {
  const story = new Story({ holdSeconds: 600 })
  for (let i = 0; i < 32; i++) story.now(0, `A - ${i}`, { time: 300 + i })
  assert.equal(story.state.held.length, 32)
  assert.deepEqual(story.plays, [])
  story.now(1, 'A - early', { time: 100 })
  assert.equal(story.state.held.length, 32)
  assert.deepEqual(story.plays, ['late A - 31 (too many held)'])
  story.now(2, 'A - last', { time: 599 })
  assert.deepEqual(story.plays.at(-1), 'late A - last (too many held)')
})

test('rule 15: 256 KiB are held together', () => {
  const story = new Story({ holdSeconds: 600 })
  const big = JSON.stringify({ pad: 'x'.repeat(60_000) })
  for (let i = 0; i < 5; i++) story.now(0, `A - ${i}`, { time: 300 + i, extdata: big })
  assert.equal(story.state.held.length, 4)
  assert.deepEqual(story.plays, ['late A - 4 (too many held)'])
})

table('rule 16, next', [
  [
    'is sent; the now stays',
    s => s.now(0, 'A - One').next(5, 'B - Two'),
    ['0 now A - One', '5 next B - Two'],
  ],
  [
    'consumed by the now of the same text: the empty record first',
    s => s.next(0, 'B - Two').now(60, 'B - Two'),
    ['0 next B - Two', '60 next ', '60 now B - Two'],
  ],
  [
    'consumed by the same id',
    s => s.next(0, 'B - Two', { id: 'n' }).now(60, 'B - Tow', { id: 'n' }),
    ['0 next B - Two', '60 next ', '60 now B - Tow'],
  ],
  [
    'another now drops it',
    s => s.next(0, 'B - Two').now(60, 'C - Three', { duration: 180 }),
    ['0 next B - Two', '60 next ', '60 now C - Three'],
  ],
  [
    'a short one leaves it alone',
    s => s.next(0, 'B - Two').now(60, 'J - Jingle', { duration: 60 }),
    ['0 next B - Two', '60 now J - Jingle'],
  ],
  [
    '61 s are not short',
    s => s.next(0, 'B - Two').now(60, 'J - Long', { duration: 61 }),
    ['0 next B - Two', '60 next ', '60 now J - Long'],
  ],
  [
    'an ad of any length leaves it alone',
    s => s.next(0, 'B - Two').now(60, 'J - Ad', { duration: 200, etype: 103 }),
    ['0 next B - Two', '60 now J - Ad'],
  ],
  [
    'younger than 30 s it stays',
    s => s.next(0, 'B - Two').now(29.9, 'C - Three', { duration: 180 }),
    ['0 next B - Two', '29.9 now C - Three'],
  ],
  [
    'next sent before now',
    s => s.next(0, 'B - Two').now(1, 'A - One', { duration: 180 }).now(181, 'B - Two'),
    ['0 next B - Two', '1 now A - One', '181 next ', '181 now B - Two'],
  ],
  ['no text withdraws it', s => s.next(0, 'B - Two').next(5, ''), ['0 next B - Two', '5 next ']],
  ['no text with nothing pending: nothing', s => s.next(0, ''), []],
  [
    'replaced: only the new one is sent',
    s => s.next(0, 'B - Two').next(5, 'C - Three'),
    ['0 next B - Two', '5 next C - Three'],
  ],
  ['repeated', s => s.next(0, 'B - Two').next(300, 'B - Two'), ['0 next B - Two']],
  [
    'corrected',
    s => s.next(0, 'B - Two').next(5, 'B - Two', { duration: 10 }),
    ['0 next B - Two', '5 next B - Two'],
  ],
  ['equal to the now: ignored', s => s.now(0, 'A - One').next(5, 'A - One'), ['0 now A - One']],
  [
    'equal to the now, another id',
    s => s.now(0, 'A - One', { id: '1' }).next(5, 'A - One', { id: '2' }),
    ['0 now A - One', '5 next A - One'],
  ],
  [
    'equal to the now, another time',
    s => s.now(0, 'A - One', { time: 0 }).next(5, 'A - One', { time: 200 }),
    ['0 now A - One', '5 next A - One'],
  ],
  [
    'never turns into now by itself',
    s => s.now(0, 'A - One', { duration: 10 }).next(5, 'B - Two', { duration: 10 }).until(5000),
    ['0 now A - One', '5 next B - Two', '80 next '],
  ],
  [
    'its end: explicit time + duration + 60 s',
    s => s.next(0, 'B - Two', { time: 100, duration: 40 }).until(5000),
    ['0 next B - Two', '200 next '],
  ],
  [
    'its end without duration: 15 min',
    s => s.next(0, 'B - Two').until(5000),
    ['0 next B - Two', '960 next '],
  ],
  [
    'its end beside a now that has run out',
    s => s.now(0, 'A - One', { duration: 10 }).next(20, 'B - Two', { duration: 10 }).until(5000),
    ['0 now A - One', '20 next B - Two', '90 next '],
  ],
  [
    'its end with a time just passed: from arrival',
    s => s.next(0, 'B - Two', { time: -3, duration: 10 }).until(5000),
    ['0 next B - Two', '70 next '],
  ],
  [
    'its end with a slow clock: from arrival',
    s => s.next(0, 'B - Two', { time: -3600, duration: 10 }).until(5000),
    ['0 next B - Two', '70 next '],
  ],
])

test('rule 16: the empty record has the id of the one that ceased, no text, and that moment as start', () => {
  const story = new Story().next(0, 'B - Two', {
    id: 'n',
    duration: 200,
    etype: 1001,
    cover: 'https://c.example/1',
  })
  story.now(60, 'C - Three', { duration: 180 })
  const { next } = story.changes.at(-1) ?? assert.fail()
  const { id, song, artist, cover, duration, etype, type, start } = next ?? assert.fail()
  assert.deepEqual(
    { id, song, artist, cover, duration, etype, type, start },
    {
      id: 'n',
      song: '',
      artist: '',
      cover: '',
      duration: 0,
      etype: 0,
      type: 'next',
      start: '27.11.2026 19:01:00',
    },
  )
  assert.equal(story.now(90, 'D - Four').changes.at(-1)?.next, null)
})

table(
  'rule 16, announceNext false',
  [
    [
      'nothing of a next is delivered',
      s => s.next(0, 'B - Two').now(60, 'B - Two').next(70, 'C - Three').until(9999),
      ['60 now B - Two'],
    ],
  ],
  { announceNext: false },
)

test('rule 16: announceNext takes effect with the next push', () => {
  const story = new Story().next(0, 'B - Two')
  story.context = { ...story.context, revision: 2, announceNext: false }
  story.now(5, 'A - One', { duration: 180 })
  assert.deepEqual(story.sent, ['0 next B - Two', '5 next ', '5 now A - One'])
})

table(
  'rule 17, fallback',
  [
    [
      'after the end',
      s => s.now(0, 'A - One', { duration: 60 }).until(5000),
      ['0 now A - One', '70 now F - Back'],
    ],
    [
      'not after a new play',
      s => s.now(0, 'A - One', { duration: 60 }).now(65, 'B - Two', { duration: 60 }).until(100),
      ['0 now A - One', '65 now B - Two'],
    ],
    [
      'unknown duration: from arrival',
      s => s.now(5, 'A - One').until(5000),
      ['5 now A - One', '905 now F - Back'],
    ],
    [
      'a slow clock: from arrival',
      s => s.now(0, 'A - One', { time: -3600, duration: 60 }).until(5000),
      ['0 now A - One', '70 now F - Back'],
    ],
    [
      'never repeated: the same text is a new play',
      s => s.now(0, 'A - One', { duration: 60 }).until(80).now(90, 'F - Back', { duration: 10 }),
      ['0 now A - One', '70 now F - Back', '90 now F - Back'],
    ],
    [
      'the next stays',
      s =>
        s
          .now(0, 'A - One', { duration: 60 })
          .next(5, 'B - Two', { duration: 100 })
          .until(80)
          .now(90, 'B - Two'),
      ['0 now A - One', '5 next B - Two', '70 now F - Back', '90 next ', '90 now B - Two'],
    ],
  ],
  { fallback: { song: 'Back', artist: 'F', afterSeconds: 10, unknownAfterSeconds: 900 } },
)

test('what falls due before one late tick happens in the order of time', () => {
  const story = new Story({ fallback: { song: 'Back', artist: 'F', afterSeconds: 5 } })
    .now(0, 'A - One', { duration: 100 })
    .next(1, 'B - Two', { time: 1, duration: 42 })
    .now(90, 'A - One', { time: 108, duration: 100 })
  story.say(109, { v: 1, kind: 'tick' })
  assert.deepEqual(story.sent.slice(2), ['109 next ', '109 now F - Back', '109 now A - One'])
  const starts = story.changes.slice(-3).map(({ now, next }) => (next ?? now)?.start.slice(-5))
  assert.deepEqual(starts, ['01:43', '01:45', '01:48'])
})

test('rule 17: without unknownAfterSeconds a now of unknown duration stays', () => {
  const story = new Story({ fallback: { song: 'Back', artist: 'F', afterSeconds: 10 } })
    .now(0, 'A - One')
    .until(99_999)
  assert.deepEqual(story.sent, ['0 now A - One'])
})

test('rule 17: the id of a fallback is the same in every replay', () => {
  const tell = () =>
    new Story({ fallback: { song: 'Back', artist: 'F', afterSeconds: 10 } })
      .now(0, 'A - One', { duration: 60 })
      .until(99)
  assert.equal(tell().state.now?.record.id, tell().state.now?.record.id)
  assert.equal(tell().state.now?.record.source, 'fallback')
})

test('removal: the state goes, older events are ignored, a successor begins anew', () => {
  const story = new Story().now(0, 'A - One').say(1, { v: 1, kind: 'delete', revision: 5 })
  assert.equal(story.changes.at(-1)?.removed, true)
  story.now(2, 'B - Two')
  assert.equal(story.state.now, null)
  story.context = { ...story.context, revision: 6 }
  story.now(3, 'C - Three')
  assert.equal(story.shown, '3 C - Three')
  story.say(4, { v: 1, kind: 'delete', revision: 5 })
  assert.equal(story.shown, '3 C - Three')
})
