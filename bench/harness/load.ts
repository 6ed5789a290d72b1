// Fills both logs as an intake and a projector leave them, without the way through one: each event is folded here, and
// a thousand messages go for one ack.
import { headers } from '@nats-io/transport-node'
import type { PushEvent } from '../../src/domain/event.ts'
import { initialState } from '../../src/domain/state.ts'
import type { LogConnection } from '../../src/log/connection.ts'
import { timeHeader } from '../../src/log/event-log.ts'
import type { Topology } from '../../src/log/topology.ts'
import type { Known } from '../../src/projector/channel-states.ts'
import { foldEvent } from '../../src/projector/values.ts'

export type Load = {
  /** How many pushes, of the channels in turn. */
  events: number
  channels: number
  stationkey: string
  /** The start of the last play, unix milliseconds; a channel's plays are `playSeconds` apart. */
  endMs: number
  playSeconds: number
  progress?(done: number): void
}

export function loadedKey(channel: number): string {
  return `load_${channel}`
}

/** How many values, with their events, are on their way before an ack is waited for. */
const unacked = 500

/** Writes the events and values of a load into empty logs; resolves when the last one is stored. Throws where a value was lost. */
export async function load({ nc, js }: LogConnection, { incarnation }: Topology, load: Load): Promise<void> {
  const { events, channels, endMs, playSeconds, progress } = load
  const known = new Map<string, Known>()
  let sequence = 0
  let acked: Promise<unknown> = Promise.resolve()
  for (let number = 0; number < events; number++) {
    const channelkey = loadedKey(number % channels)
    const timeMs = Math.round(endMs - ((events - number) / channels) * playSeconds * 1000)
    const event = pushEvent(number, timeMs, load)
    const before = known.get(channelkey) ?? { state: initialState, sequence: 0 }
    const logged = { channelkey, sequence: number + 1, timeMs, event }
    const folded = foldEvent(before, logged, incarnation, sequence)
    known.set(channelkey, folded.known)
    const head = headers()
    head.set(timeHeader, String(timeMs))
    nc.publish(`event.${channelkey}.now`, JSON.stringify(event), { headers: head })
    for (const { json } of folded.values) {
      const subject = `$KV.channel.${channelkey}`
      if (++sequence % unacked !== 0 && number < events - 1) nc.publish(subject, json ?? '')
      else {
        await acked
        acked = js.publish(subject, json ?? '', { expect: { lastSequence: sequence - 1 }, timeout: 60_000 })
      }
    }
    if (number % 10_000 === 0) progress?.(number)
  }
  await acked
}

function pushEvent(number: number, timeMs: number, { stationkey, playSeconds }: Load): PushEvent {
  return {
    v: 1,
    kind: 'now',
    element: {
      id: `A-${number}`,
      song: `Song ${number} of the morning`,
      artist: `Artist ${number % 4999}`,
      album: `Album ${number % 9973}`,
      cover: '',
      images: null,
      separator: ' - ',
      isrc: `DEZZZ26${String(number % 100_000).padStart(5, '0')}`,
      duration: playSeconds,
      etype: 1001,
      extdata: null,
      externalid: null,
    },
    given: ['id', 'song', 'artist', 'album', 'isrc', 'duration', 'etype'],
    startMs: timeMs,
    explicit: false,
    receivedMs: timeMs,
    intake: 'load',
    warnings: [],
    context: {
      revision: 1,
      stationkey,
      station: 'Load',
      channel: 'Loaded',
      timezone: 'Europe/Berlin',
      cover: '',
      holdSeconds: 30,
      fallback: null,
      announceNext: true,
    },
  }
}
