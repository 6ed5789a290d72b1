// A listener's session through a real Icecast: its URL-auth hooks are all that tells of it (rule 28). Wants Debian's
// icecast2 and ezstream: `npm run test:icecast`.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listen } from '../helpers/listener.ts'
import { until } from '../helpers/log.ts'
import { Player } from '../helpers/player.ts'
import { startWorld, type World } from './world.ts'

let world: World
before(async () => {
  world = await startWorld(hooks => [
    {
      name: '/live',
      user: 'live',
      password: 'pass-live',
      charset: 'UTF-8',
      listenerHooks: { add: hooks('main'), remove: hooks('main') },
    },
    // Of a channel that is not there: metadata must not stop audio.
    {
      name: '/misconfigured',
      user: 'live',
      password: 'pass-live',
      charset: 'UTF-8',
      listenerHooks: { add: hooks('nowhere'), remove: hooks('nowhere') },
    },
  ])
  await world.channel('main', [world.at('/live')])
  await Promise.all(['/live', '/misconfigured'].map(name => world.icecast.source(name)))
  await world.push('main', 'song=Paper+Lanterns&artist=Mira+Holt&duration=300')
})
after(() => world.stop())

const sessionOf = async (metaid: string) => (await world.listeners.read(metaid)).listener?.session

test('a listener starting /live?metaid=abc activates its session through Icecast itself and ends it by leaving', async () => {
  const listener = await listen(`${world.icecast.url}/live?metaid=abc`)
  await until('the session has begun', async () => (await sessionOf('abc')) !== undefined)
  const session = await sessionOf('abc')
  assert.deepEqual([session?.channelkey, session?.mount], ['main', '/live'])
  assert.match(session?.client ?? '', /^\d+$/)
  listener.stop()
  await until('the session has ended', async () => (await sessionOf('abc')) === undefined)
})

test('from joining to leaving, as the player sees it: silence, the channel, an overlay for 5 s, the channel', async t => {
  const player = await Player.open(world.playerUrl('transcript'))
  t.after(() => player.ws.terminate())
  const startMs = performance.now()
  const note = (what: string) =>
    t.diagnostic(`${((performance.now() - startMs) / 1000).toFixed(1)} s  ${what}`)
  note('the player opens its WebSocket; nothing comes, since its stream has not started')
  assert.equal(player.records.length, 0)

  const listener = await listen(`${world.icecast.url}/live?metaid=transcript`)
  note('it starts the stream /live?metaid=transcript')
  const channel = await player.sees('now Paper Lanterns')
  note(JSON.stringify(channel))
  assert.deepEqual([channel['mount'], channel['userplayout']], ['/live', false])
  assert.match(String(channel['session']), /^\d+$/)

  await world.push('main', 'metaid=transcript&song=Your+Weather&artist=Demo+FM&duration=5')
  note('a push for this listener alone, duration 5')
  const overlay = await player.sees('now Your Weather')
  note(JSON.stringify(overlay))
  const overlaidMs = performance.now()
  assert.deepEqual(
    [overlay['session'], overlay['userplayout'], overlay['position']],
    [channel['session'], true, ''],
  )

  const back = await player.sees('now Paper Lanterns')
  const lasted = performance.now() - overlaidMs
  note(JSON.stringify(back))
  assert.deepEqual(back, channel)
  assert.ok(lasted > 4_500 && lasted < 6_500, `the overlay lasted ${lasted} ms`)

  listener.stop()
  note('the listener leaves')
  await until('the session has ended', async () => (await sessionOf('transcript')) === undefined)
  note('the session is gone')
  await world.push('main', 'song=Slow+Tide&duration=200')
  await listen(`${world.icecast.url}/live`).then(other =>
    other.hears("StreamTitle='Slow Tide';").finally(() => other.stop()),
  )
  assert.equal(player.records.length, 3, 'and nothing more is sent')
})

test('a listener without a metaid, and one of a mount whose hook is wrong, hear the stream all the same', async () => {
  for (const path of ['/live', '/misconfigured?metaid=abc', '/misconfigured']) {
    const listener = await listen(world.icecast.url + path)
    await until('audio comes', () => listener.audioBytes > 20_000)
    listener.stop()
  }
  assert.equal(await sessionOf('abc'), undefined)
})
