// Sessions and overlays, from the stream server to the player (spec 4.5, rules 18 and 28).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { metricOf, until } from '../helpers/log.ts'
import { startWorld, token, type World, wrongToken } from './world.ts'

let world: World
before(async () => {
  world = await startWorld()
  await world.push('main', 'artist=Mira+Holt&song=Paper+Lanterns&duration=200&id=A1')
  await until('the channel shows', async () => (await world.poll('channel/main.json')).status === 200)
})
after(() => world.stop())

test('a client may connect before its stream starts: silent, then the channel with session and mount', async () => {
  const player = await world.player('early')
  assert.equal((await world.poll('listener/early.json')).status, 204)
  await world.begin('main', 'early', { client: '9', session: 'S-9', mount: '/live.mp3?metaid=early' })
  const record = await player.sees('now Paper Lanterns')
  assert.equal(record['session'], 'S-9')
  assert.equal(record['mount'], '/live.mp3')
  assert.equal(record['userplayout'], false)
  const channel = JSON.parse((await world.poll('channel/main.json')).body)
  assert.deepEqual(record, { ...channel, session: 'S-9', mount: '/live.mp3' })
  assert.equal(player.records.length, 1)
})

test('a later client gets the state at once; polls in JSON and text, private', async () => {
  await world.begin('main', 'late', { session: 'S' })
  const player = await world.player('late')
  await player.sees('now Paper Lanterns')
  const json = await world.poll('listener/late.json')
  assert.equal(json.status, 200)
  assert.equal(json.headers.get('cache-control'), 'private, no-store')
  assert.deepEqual(JSON.parse(json.body), player.records[0])
  const etag = json.headers.get('etag') ?? ''
  assert.equal((await world.poll('listener/late.json', { 'If-None-Match': etag })).status, 304)
  const text = await world.poll('listener/late.txt')
  assert.equal(text.body, 'Mira Holt - Paper Lanterns')
  assert.equal(text.headers.get('cache-control'), 'private, no-store')
  assert.equal((await world.poll('listener/late.json?type=next')).status, 204)
  assert.equal(JSON.parse((await world.poll('listener/late.json?type=all')).body).length, 1)
})

test('a session without texts gets the very bytes of the channel', async () => {
  await world.begin('main', 'plain')
  const [own, channel] = [await world.poll('listener/plain.json'), await world.poll('channel/main.json')]
  assert.equal(own.body, channel.body)
  assert.equal(own.headers.get('etag'), channel.headers.get('etag'))
})

test('changes of the channel come, next before now; an overlay covers only the now and ends by itself', async () => {
  await world.channel('over')
  await world.push('over', 'song=One&duration=100')
  await world.begin('over', 'covered', { client: '1', session: 's', mount: '/o' })
  const player = await world.player('covered')
  const onlyNext = await world.player('covered', '?type=next')
  await player.sees('now One')
  const began = performance.now()
  const answer = await world.push('over', 'metaid=covered&song=For+You&artist=Us&duration=2')
  assert.equal(answer.status, 200)
  assert.equal(JSON.parse(answer.body).userplayout, true)
  const overlay = await player.sees('now For You')
  assert.equal(overlay['position'], '')
  assert.deepEqual([overlay['session'], overlay['mount'], overlay['userplayout']], ['s', '/o', true])
  assert.equal((await world.poll('listener/covered.txt')).body, 'Us - For You')
  await world.push('over', 'song=Three&tracktype=next')
  await player.sees('next Three')
  await world.push('over', 'song=Two&duration=100')
  const back = await player.sees('now Two')
  assert.ok(performance.now() - began > 1_900, 'not before its end')
  assert.ok(performance.now() - began < 4_000, 'soon after its end')
  assert.equal(back['userplayout'], false)
  assert.deepEqual(player.songs, ['now One', 'now For You', 'next Three', 'now Two'])
  assert.deepEqual(onlyNext.songs, ['next Three'])
  assert.equal((await world.poll('listener/covered.txt')).body, 'Two')
  const all = JSON.parse((await world.poll('listener/covered.json?type=all')).body)
  assert.deepEqual(
    all.map((record: { song: string; session: string }) => [record.song, record.session]),
    [
      ['Two', 's'],
      ['Three', 's'],
    ],
  )
})

test('a poll of a listener without a socket sees an overlay end, too', async () => {
  await world.begin('main', 'polled')
  await world.push('main', 'metaid=polled&song=Briefly&duration=2')
  await until('shown', async () => (await world.poll('listener/polled.txt')).body === 'Briefly')
  await until(
    'over',
    async () => (await world.poll('listener/polled.txt')).body === 'Mira Holt - Paper Lanterns',
  )
})

test('an overlay without duration stays until it is replaced and withdrawn, and is never in the log', async () => {
  const { state } = await world.connection.jsm.streams.info('EVENTS')
  await world.begin('main', 'mine')
  const player = await world.player('mine')
  await player.sees('now Paper Lanterns')
  await world.push('main', 'metaid=mine&song=A')
  await player.sees('now A')
  await world.push('main', 'metaid=mine&song=B')
  await player.sees('now B')
  const empty = await world.push('main', 'metaid=mine')
  assert.equal(JSON.parse(empty.body).userplayout, true)
  await player.sees('now Paper Lanterns')
  const posted = await world.toIntake(
    'POST',
    `/metapush/main/${token}?metaid=mine`,
    JSON.stringify({ song: 'C', artist: '', duration: 0, extdata: { big: 1 } }),
  )
  assert.equal(posted.status, 200)
  assert.deepEqual((await player.sees('now C'))['extdata'], { big: 1 })
  assert.equal((await world.connection.jsm.streams.info('EVENTS')).state.last_seq, state.last_seq)
})

test('of two clients of one metaid the latest add wins, and a remove ends only its own', async () => {
  const player = await world.player('twice')
  await world.begin('main', 'twice', { client: '1' })
  await player.sees('now Paper Lanterns')
  await world.push('main', 'metaid=twice&song=Mine')
  await player.sees('now Mine')
  await world.begin('main', 'twice', { client: '2' })
  const record = await player.sees('now Paper Lanterns')
  assert.equal(record['session'], '2', 'the new session, without the overlay of the old one')
  await world.end('main', 'twice', '1')
  await world.end('rock', 'twice', '2')
  assert.equal((await world.listeners.read('twice')).listener?.session.client, '2')
  await world.end('main', 'twice', '2')
  assert.equal((await world.listeners.read('twice')).listener, null)
  await until('gone', async () => (await world.poll('listener/twice.json')).status === 204)
  const seen = player.records.length
  await world.begin('main', 'twice', { client: '3' })
  await until('again', () => player.records.length === seen + 1)
  await world.end('main', 'twice')
  assert.equal((await world.listeners.read('twice')).listener, null, 'without a client: whoever it is')
})

test('a listener who changes the channel sees the other one', async () => {
  await world.channel('second')
  await world.push('second', 'song=Rock')
  await world.begin('main', 'mover')
  const player = await world.player('mover')
  await player.sees('now Paper Lanterns')
  await world.begin('second', 'mover')
  assert.equal((await player.sees('now Rock'))['channelkey'], 'second')
  await world.push('second', 'song=Roll')
  await player.sees('now Roll')
  assert.deepEqual(player.songs, ['now Paper Lanterns', 'now Rock', 'now Roll'])
})

test('a push for one listener wants its session on the own channel', async () => {
  await world.begin('main', 'here')
  const elsewhere = await world.push('rock', 'metaid=here&song=X')
  assert.equal(elsewhere.status, 404)
  assert.equal(JSON.parse(elsewhere.body).code, 'unknown-listener')
  assert.equal((await world.push('main', 'metaid=nobody&song=X')).status, 404)
  const fieldOf = (body: string) => JSON.parse(body).errors.map((error: { field: string }) => error.field)
  const next = await world.push('main', 'metaid=here&song=X&tracktype=next')
  assert.deepEqual([next.status, fieldOf(next.body)], [400, ['tracktype']])
  for (const metaid of ['', '...', 'a/b', 'x'.repeat(129)]) {
    const answer = await world.push('main', `metaid=${encodeURIComponent(metaid)}&song=X`)
    assert.deepEqual([answer.status, fieldOf(answer.body)], [400, ['metaid']], metaid)
  }
  assert.equal((await world.poll('channel/main.txt')).body, 'Mira Holt - Paper Lanterns')
})

test('PUT and DELETE: who may, what is taken, what is refused', async () => {
  const path = (channelkey: string, pushToken: string, metaid = 'm') =>
    `/listener/${channelkey}/${pushToken}/${metaid}`
  assert.equal((await world.toIntake('PUT', path('main', wrongToken))).status, 403)
  assert.equal((await world.toIntake('PUT', path('nowhere', token))).status, 404)
  assert.equal((await world.toIntake('DELETE', path('main', token, 'never-seen'))).status, 204)
  assert.equal((await world.toIntake('PUT', path('main', token, 'x'.repeat(128)))).status, 204)
  assert.equal((await world.toIntake('PUT', path('main', token, 'x'.repeat(129)))).status, 400)
  assert.equal((await world.toIntake('PUT', path('main', token), '{"client":7,"other":1}')).status, 204)
  assert.equal((await world.listeners.read('m')).listener?.session.session, '7')
  assert.equal((await world.toIntake('PUT', path('main', token), '{"client":')).status, 400)
  assert.equal((await world.toIntake('PUT', path('main', token), '{"client":[]}')).status, 400)
  const text = (length: number) => JSON.stringify({ mount: 'm'.repeat(length) })
  assert.equal((await world.toIntake('PUT', path('main', token), text(1024))).status, 204)
  assert.equal((await world.toIntake('PUT', path('main', token), text(1025))).status, 400)
  assert.equal((await world.toIntake('PUT', path('main', token), '<x/>', 'text/xml')).status, 415)
  const get = await world.toIntake('GET', path('main', token))
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'PUT, DELETE'])
})

test('following ends with the last socket', async () => {
  await until('others are gone or counted', async () => (await metricOf(world.metrics.edgeFollowed)) > 0)
  const before = await metricOf(world.metrics.edgeFollowed)
  const [one, two] = [await world.player('counted'), await world.player('counted')]
  assert.equal(await metricOf(world.metrics.edgeFollowed), before + 1)
  one.ws.close()
  two.ws.close()
  await until('unfollowed', async () => (await metricOf(world.metrics.edgeFollowed)) === before)
})

test('following goes on over a restart of the log, and learns what happened meanwhile', async () => {
  await world.begin('main', 'patient')
  const player = await world.player('patient')
  await player.sees('now Paper Lanterns')
  await world.nats.restart()
  await until('the intake writes again', async () => {
    const { status } = await world.toIntake('PUT', `/listener/main/${token}/patient`, '{"session":"new"}')
    return status === 204
  })
  await until('the new session is seen', () => player.records.at(-1)?.['session'] === 'new')
  await world.push('main', 'metaid=patient&song=Again')
  await player.sees('now Again')
})
