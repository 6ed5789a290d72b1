// Clients that do not keep up: never a silent gap (rule 24).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plainChannel } from '../../src/domain/registry.ts'
import { CatchUp } from '../../src/edge/catch-up.ts'
import { loadableUws } from '../../src/edge/uws.ts'
import { count, createWorld, Listener, until, type World } from './world.ts'

const extra = 'x'.repeat(60_000)

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

for (const uws of loadableUws()) {
  describe(`slow clients on ${uws.name} ${uws.version}`, () => {
    test('one that does not read is closed and counted, while the others get everything', async () => {
      const edge = await world.edge({ uws })
      const slow = await Listener.open(`${edge.url}/metadata/channel/c`)
      const quick = await Listener.open(`${edge.url}/metadata/channel/c`)
      slow.ws.pause()
      const closed = slow.closed()
      let sent = 0
      while ((await count(edge.metrics.edgeClosed, 'slow')) === 0) {
        await world.show('c', { song: `${sent++}`, extra }, null, ['now'])
      }
      slow.ws.resume()
      assert.equal((await closed).code, 1006)
      const songs = (listener: Listener) => listener.messages.map(message => Number(JSON.parse(message).song))
      await until(() => songs(quick).at(-1) === sent - 1)
      assert.deepEqual(
        songs(quick),
        Array.from({ length: sent }, (_, at) => at),
      )
      // What it got is a beginning: nothing is left out in between.
      assert.deepEqual(
        songs(slow),
        songs(slow).map((_, at) => at),
      )
      assert.equal(await count(edge.metrics.edgeClosed, 'slow'), 1)
      quick.ws.close()
      await world.marker('c')
    })

    test('a snapshot beyond all buffers is written as the socket drains, live records after it', async () => {
      const station = `big-${uws.version.replaceAll('.', '-')}`
      const size = 160
      await world.registry.putStation({ key: station, name: '', timezone: null })
      await world.registry.putChannel(plainChannel('m0', station))
      for (let at = 0; at < size; at++)
        await world.show(`m${at}`, { song: `${at}`, station, extra }, null, ['now'])
      const edge = await world.edge({ uws, settings: { socketQueue: 262_144 } })
      const listener = await Listener.open(`${edge.url}/metadata/station/${station}`)
      listener.ws.pause()
      const live = async (song: number) => {
        const { now } = await world.show('m0', { song: `${song}`, station }, null, ['now'])
        await until(async () =>
          (await (await fetch(`${edge.url}/metadata/channel/m0.json`)).text()).includes(now.position),
        )
      }
      for (let at = 0; at < 20; at++) await live(size + at)
      listener.ws.resume()
      await listener.records(size + 20)
      await live(size + 20)
      const songs = (await listener.records(size + 21)).map(({ song }) => Number(song))
      assert.deepEqual(
        songs,
        Array.from({ length: size + 21 }, (_, at) => at),
      )
      const late = await Listener.open(`${edge.url}/metadata/station/${station}`)
      late.ws.pause()
      const closed = late.closed()
      while ((await count(edge.metrics.edgeClosed, 'slow')) === 0)
        await world.show('m0', { song: 'more', station, extra }, null, ['now'])
      late.ws.resume()
      assert.equal((await closed).code, 1006)
      listener.ws.close()
      for (let at = 0; at < size; at++) await world.marker(`m${at}`)
    })

    test('a client that leaves of itself is not counted as slow', async () => {
      const edge = await world.edge({ uws })
      const [closing, dying] = [
        await Listener.open(`${edge.url}/metadata/channel/a`),
        await Listener.open(`${edge.url}/metadata/channel/a`),
      ]
      await world.show('a', { song: 'S' }, null, ['now'])
      await closing.records(1)
      closing.ws.close()
      dying.ws.terminate()
      await until(async () => (await edge.metrics.edgeSockets.get()).values[0]?.value === 0)
      assert.equal(await count(edge.metrics.edgeClosed, 'slow'), 0)
    })
  })
}

test('live records that wait for the end of a snapshot count against the limit, the snapshot does not', () => {
  const sent: number[] = []
  const socket = {
    buffered: true,
    send(bytes: Uint8Array) {
      sent.push(bytes.length)
      return socket.buffered ? 0 : 1
    },
  }
  let [ends, overruns] = [0, 0]
  const limit = 100
  const catchUp = new CatchUp(socket as never, [new Uint8Array(1_000), new Uint8Array(2_000)], limit, {
    done: () => ends++,
    overrun: () => overruns++,
  })
  catchUp.pump()
  assert.deepEqual(sent, [1_000])
  catchUp.addLive(new Uint8Array(60))
  catchUp.addLive(new Uint8Array(40))
  assert.equal(overruns, 0)
  catchUp.addLive(new Uint8Array(1))
  assert.equal(overruns, 1)
  socket.buffered = false
  catchUp.pump()
  assert.deepEqual(sent, [1_000, 2_000, 60, 40, 1])
  assert.equal(ends, 1)
})
