// What listeners of a real Icecast read out of the audio (rule 31). Wants Debian's icecast2 and ezstream:
// `npm run test:icecast`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { connectSource } from '../helpers/icecast.ts'
import { listen } from '../helpers/listener.ts'
import { until } from '../helpers/log.ts'
import { startWorld, type World } from './world.ts'

let world: World

before(async () => {
  world = await startWorld([
    { name: '/live', user: 'live', password: 'pass-live', charset: 'UTF-8' },
    { name: '/second', user: 'second', password: "pässword's: second", charset: 'UTF-8' },
    { name: '/plain', user: 'plain', password: 'pass-plain' },
    { name: '/coming-and-going', user: 'live', password: 'pass-going', charset: 'UTF-8' },
    { name: '/far', user: 'far', password: 'pass-far', charset: 'UTF-8' },
  ])
  await Promise.all(['/live', '/second', '/plain'].map(name => world.icecast.source(name)))
})
after(() => world.stop())

/** Pushes, and what a listener must then read. */
const readings = [
  {
    name: 'an apostrophe ends nothing and is not escaped',
    push: ['song=Don%27t%20Wait&artist=Mara%27s%20Orchard&duration=100'],
    text: "StreamTitle='Mara's Orchard - Don't Wait';",
  },
  {
    name: 'a quote and a semicolon in the title are parted, so that nothing is injected',
    push: ['song=End%27%3BStreamUrl%3D%27x&artist=Ada&duration=100'],
    text: "StreamTitle='Ada - End' ;StreamUrl='x';",
  },
  {
    name: 'an ampersand is one, not an entity',
    push: ['song=Gate&artist=Rook%20%26%20Fern&duration=100'],
    text: "StreamTitle='Rook & Fern - Gate';",
  },
  {
    name: 'nothing of a longer title stays behind a shorter one',
    push: [
      'song=A%20Rather%20Long%20Title%20Indeed&artist=Somebody&duration=100',
      'song=Hi&artist=A&duration=100',
    ],
    text: "StreamTitle='A - Hi';",
  },
  {
    name: 'umlauts, other scripts and emoji',
    push: [`song=${encodeURIComponent('Grüße, „Любовь“ 東京 🎸')}&artist=${encodeURIComponent('Jürgen ß')}`],
    text: "StreamTitle='Jürgen ß - Grüße, „Любовь“ 東京 🎸';",
  },
  { name: 'one part alone, without separator', push: ['song=Only%20This'], text: "StreamTitle='Only This';" },
  {
    name: 'a separator of its own',
    push: ['song=S&artist=A&separator=%20~%20'],
    text: "StreamTitle='A ~ S';",
  },
  { name: 'between songs: nothing', push: ['song=&artist='], text: "StreamTitle='';" },
]

test('what is pushed stands in the audio', async t => {
  await world.channel('reading', [world.at('/live')])
  const listener = await listen(`${world.icecast.url}/live`)
  t.after(() => listener.stop())
  for (const { name, push, text } of readings) {
    await t.test(name, async () => {
      for (const query of push) await world.push('reading', query)
      await listener.hears(text)
    })
  }
})

test('a title over all lengths is cut on a character: a valid block with its end mark', async t => {
  await world.channel('long', [world.at('/live')])
  const listener = await listen(`${world.icecast.url}/live`)
  t.after(() => listener.stop())
  await world.push('long', `song=${'%C3%BC'.repeat(2500)}&artist=L&duration=5`)
  const isLong = () => listener.blocks.at(-1)?.toString().startsWith("StreamTitle='L - üü") === true
  await until('the long title is heard', isLong)
  const block = listener.blocks.at(-1) ?? Buffer.alloc(0)
  assert.ok(block.length <= 4080)
  assert.match(new TextDecoder('utf-8', { fatal: true }).decode(block), /^StreamTitle='L - ü{500,}';$/)
})

test('a mount without a charset', async t => {
  const song = 'song=Gr%C3%BC%C3%9Fe%20%E2%80%99&artist=A'
  const listener = await listen(`${world.icecast.url}/plain`)
  t.after(() => listener.stop())
  await t.test('charset none: UTF-8 as it is', async () => {
    await world.channel('plain', [world.at('/plain', { charset: 'none' })])
    await world.push('plain', song)
    await listener.hears("StreamTitle='A - Grüße ’';")
  })
  await t.test(
    'UTF-8: Icecast makes Latin-1 and entities of it, hence the mount wants its <charset>',
    async () => {
      await world.channel('plain', [world.at('/plain')])
      const expected = Buffer.from("StreamTitle='A - Grüße &#8217;';", 'latin1')
      await until('Latin-1 is heard', () => listener.blocks.at(-1)?.equals(expected) === true)
    },
  )
  await t.test("a named charset: Icecast makes the mount's of it", async () => {
    await world.channel('named', [world.at('/live', { charset: 'ISO-8859-1' })])
    const live = await listen(`${world.icecast.url}/live`)
    t.after(() => live.stop())
    await world.push('named', song)
    await live.hears("StreamTitle='A - Grüße ?';")
  })
})

test('a fallback reaches the mount, and all mounts of a channel get the title', async t => {
  const fallback = { song: 'Your music', artist: 'Radio', afterSeconds: 0 }
  await world.channel('fallback', [world.at('/live'), world.at('/second')], fallback)
  const listeners = await Promise.all(['/live', '/second'].map(name => listen(world.icecast.url + name)))
  t.after(() => listeners.map(listener => listener.stop()))
  await world.push('fallback', 'song=Short&artist=A&duration=2')
  for (const listener of listeners) await listener.hears("StreamTitle='A - Short';")
  for (const listener of listeners) await listener.hears("StreamTitle='Radio - Your music';")
})

test('the title is back within 30 s after the source reconnected', { timeout: 90_000 }, async t => {
  const name = '/coming-and-going'
  const heard = async (text: string) => {
    const listener = await listen(world.icecast.url + name)
    await listener.hears(text, 30_000).finally(() => listener.stop())
  }
  await world.channel('going', [world.at(name)])
  await world.push('going', 'song=Before&artist=A')
  await until('no source', () => world.state('going', name)?.error === 'no source is connected to the mount')
  await t.test('a title that was pushed while there was no source', async () => {
    const source = await world.icecast.source(name)
    await heard("StreamTitle='A - Before';")
    await source.stop()
  })
  await t.test('only the newest of those pushed meanwhile', async () => {
    await world.push('going', 'song=One&artist=A')
    await world.push('going', 'song=Two&artist=A')
    const source = await world.icecast.source(name)
    await heard("StreamTitle='A - Two';")
    await source.stop()
  })
  await t.test('a source that was away for a moment only', async () => {
    const source = await world.icecast.source(name)
    await heard("StreamTitle='A - Two';")
    await source.stop()
    await world.icecast.source(name)
    await heard("StreamTitle='A - Two';")
  })
  assert.match(world.state('going', name)?.sentAt ?? '', /^\d{4}-.*Z$/)
  assert.equal(world.state('going', name)?.error, null)
})

test('the title is sent again after our own restart', async t => {
  await world.channel('restart', [world.at('/second')])
  const listener = await listen(`${world.icecast.url}/second`)
  t.after(() => listener.stop())
  await world.push('restart', 'song=Ours&artist=A')
  await listener.hears("StreamTitle='A - Ours';")
  const theirs = `${world.icecast.url}/admin/metadata?mode=updinfo&mount=/second&song=Theirs`
  await fetch(theirs, { headers: { Authorization: basic('admin', world.icecast.adminPassword) } })
  await listener.hears("StreamTitle='Theirs';")
  await world.restartRole()
  await listener.hears("StreamTitle='A - Ours';")
})

test("the mount's own password suffices where the source has another address", async t => {
  const source = await connectSource(world.icecast.port, world.icecast.mount('/far'), '127.0.0.2')
  t.after(() => source.stop())
  await world.channel('far', [world.at('/far')])
  const listener = await listen(`${world.icecast.url}/far`)
  t.after(() => listener.stop())
  for (const song of ['One', 'Two']) {
    await world.push('far', `song=${song}&artist=Far`)
    await listener.hears(`StreamTitle='Far - ${song}';`)
  }
  // Without the refusal that is got around, this test would prove nothing.
  const plainly = `${world.icecast.url}/admin/metadata?mode=updinfo&mount=/far&song=x`
  const answer = await fetch(plainly, { headers: { Authorization: basic('far', 'pass-far') } })
  assert.match(await answer.text(), /Mountpoint will not accept URL updates/)
})

test('a mount that fails says why, tells no password and delays no other', async t => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const address = silent.address()
  assert.ok(typeof address === 'object' && address !== null)
  const secret = 'very-secret-password'
  const wrong = { user: 'live', password: secret }
  await world.channel('failing', [
    { url: `http://127.0.0.1:${address.port}`, mount: '/hangs', ...wrong, charset: 'UTF-8' },
    { url: 'http://127.0.0.1:1', mount: '/nobody', ...wrong, charset: 'UTF-8' },
    world.at('/plain', wrong),
    world.at('/live'),
  ])
  const listener = await listen(`${world.icecast.url}/live`)
  t.after(() => listener.stop())
  await world.push('failing', 'song=Ahead&artist=A')
  await listener.hears("StreamTitle='A - Ahead';", 3_000)
  const errors = () => world.mounts.states('failing').map(({ mount, error }) => [mount, error])
  await until('all have failed', () => errors().filter(([, error]) => error !== null).length === 3)
  assert.deepEqual(errors(), [
    ['/hangs', 'no answer within 5 s'],
    ['/nobody', 'nothing listens there (ECONNREFUSED)'],
    ['/plain', 'user or password is refused (401)'],
    ['/live', null],
  ])
  const told = [
    world.printed(),
    JSON.stringify(world.mounts.states('failing')),
    await world.metrics.registry.metrics(),
  ]
  for (const text of told) {
    assert.ok(!text.includes(secret))
    assert.ok(!text.includes(basic('live', secret).slice('Basic '.length)))
  }
  assert.match(told[2] ?? '', /nownext_icecast_mounts\{state="failing"\} 3/)
})

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}
