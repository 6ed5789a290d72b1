// One contract for all transports: the same pushes, and what is seen of them by polling, WebSocket, SSE, by those who
// are cut off after every record and resume, and in the history.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { loadableUws } from '../../src/edge/uws.ts'
import { EventClient } from '../edge/event-source.ts'
import { until } from '../helpers/log.ts'
import { Player } from '../helpers/player.ts'
import { startWorld, type World } from '../listener/world.ts'
import { type Step, type Story, stories } from './stories.ts'

/** The end of every story, so that what is silent before it is known to be silent. */
const last: Step = { push: 'song=End&artist=X&duration=1', sends: ['now End'] }

/** Someone who follows a channel. */
type Follower = { seen(): string[]; close(): void }
type Record = { [name: string]: unknown }

const brief = (records: readonly Record[], channelkey: string) =>
  records.filter(record => record['channelkey'] === channelkey).map(({ type, song }) => `${type} ${song}`)

const transports: Array<{ name: string; follow(url: string, channelkey: string): Promise<Follower> }> = [
  {
    name: 'WebSocket',
    follow: async (url, key) => socketFollower(`${url}/channel/${key}`, key),
  },
  {
    name: 'WebSocket of the station',
    follow: async (url, key) => socketFollower(`${url}/station/radio`, key),
  },
  {
    name: 'SSE',
    follow: async (url, key) => streamFollower(`${url}/sse/channel/${key}`, key),
  },
  {
    name: 'SSE of the station',
    follow: async (url, key) => streamFollower(`${url}/sse/station/radio`, key),
  },
  {
    name: 'WebSocket, cut off after every record',
    follow: async (url, key) => {
      const records: Record[] = []
      let current: Player | undefined
      let isOver = false
      const go = async () => {
        while (!isOver) {
          const position = records.at(-1)?.['position']
          const query = position === undefined ? '' : `?after=${position}`
          const player = await Player.open(`${url.replace('http', 'ws')}/channel/${key}${query}`)
          current = player
          await until('a record', () => isOver || player.records.length > 0)
          records.push(...player.records.slice(0, 1))
          player.ws.terminate()
        }
      }
      const gone = go()
      await until('the first connection', () => current !== undefined)
      return {
        seen: () => brief(records, key),
        close() {
          isOver = true
          void gone
        },
      }
    },
  },
  {
    name: 'SSE, cut off after every record',
    follow: async (url, key) => {
      const records: Record[] = []
      let current: EventClient | undefined
      let isOver = false
      const connect = () => {
        let isOpen = true
        const id = records.at(-1)?.['position'] as string | undefined
        current = EventClient.start(`${url}/sse/channel/${key}`, id, ({ data }) => {
          if (!isOpen) return
          isOpen = false
          records.push(JSON.parse(data))
          current?.close()
          if (!isOver) connect()
        })
      }
      connect()
      await until('the first connection', () => current?.status === 200)
      return {
        seen: () => brief(records, key),
        close() {
          isOver = true
          current?.close()
        },
      }
    },
  },
]

async function socketFollower(url: string, channelkey: string): Promise<Follower> {
  const player = await Player.open(url.replace('http', 'ws'))
  return { seen: () => brief(player.records, channelkey), close: () => player.ws.terminate() }
}

async function streamFollower(url: string, channelkey: string): Promise<Follower> {
  const client = await EventClient.open(url)
  const records = () => client.events.map(({ data }) => JSON.parse(data))
  return { seen: () => brief(records(), channelkey), close: () => client.close() }
}

/** What polls answer after these records (rules 20 and 21). */
function stateAfter(sent: readonly string[]): { now: string | null; next: string | null } {
  const now = sent.findLast(record => record.startsWith('now '))?.slice(4) ?? null
  const next = sent.findLast(record => record.startsWith('next '))?.slice(5) ?? null
  return { now, next: next === '' ? null : next }
}

for (const uws of loadableUws()) {
  describe(`one contract on ${uws.name} ${uws.version}`, () => {
    let world: World
    let url = ''
    before(async () => {
      world = await startWorld({ edge: { uws } })
      url = `http://127.0.0.1:${world.edge.port}/metadata`
    })
    after(() => world.stop())

    const polled = async (key: string, type: 'now' | 'next') => {
      const { status, body } = await world.poll(`channel/${key}.json?type=${type}`)
      return status === 204 ? null : String(JSON.parse(body).song)
    }
    const history = async (key: string) => {
      const { status, body } = await world.poll(`channel/${key}/history.json`)
      assert.equal(status, 200)
      const rows: Array<{ song: string; shown: boolean }> = JSON.parse(body)
      return rows.reverse().map(({ song, shown }) => (shown ? song : `(${song})`))
    }

    const tell = async ({ steps, plays }: Story, key: string) => {
      await world.channel(key)
      const followers = await Promise.all(
        transports.map(async ({ name, follow }) => ({ name, follower: await follow(url, key) })),
      )
      const sent: string[] = []
      for (const { push, sends } of [...steps, last]) {
        assert.equal((await world.push(key, push)).status, 200)
        sent.push(...sends)
        const { now, next } = stateAfter(sent)
        await until(`polls say ${now} and ${next}`, async () => (await polled(key, 'now')) === now)
        await until(`polls say ${next}`, async () => (await polled(key, 'next')) === next)
      }
      for (const { name, follower } of followers) {
        await until(`${name} comes to the end`, () => follower.seen().at(-1) === 'now End')
        assert.deepEqual(follower.seen(), sent, name)
        follower.close()
      }
      assert.deepEqual(await history(key), [...plays, 'End'], 'history')
    }

    for (const [index, story] of stories.entries())
      test(story.name, async () => {
        await tell(story, `story_${index}`)
      })
  })
}
