// What a new socket or stream is sent first, and how it goes live from there (rules 24 to 26).
import type { Client } from './audience.ts'
import { CatchUp, type Outlet } from './catch-up.ts'
import { type ChannelStates, recordsOf, type ShownChannel } from './channel-state.ts'
import type { ListenerFeed } from './listener-feed.ts'
import { gapMessage, type Replay, type Resumes } from './resume.ts'
import type { Selection } from './route.ts'

export type WelcomeContext = {
  readonly states: ChannelStates
  readonly feed: ListenerFeed
  readonly resumes: Resumes
  /** Bytes of live records that may wait for one client. */
  readonly maxQueueBytes: number
}

/** The client's side. */
export type Newcomer = {
  readonly client: Client
  readonly outlet: Outlet
  /** Runs what sends several records, so that they go out together. */
  together(send: () => void): void
  /** All that it was owed is sent: from this tick on it gets what is published. */
  live(): void
  /** It does not read what comes meanwhile. */
  overrun(): void
}

/** To be called once the client is counted in. */
export function welcome(newcomer: Newcomer, context: WelcomeContext): void {
  const { scope, key, selection, asked } = newcomer.client
  const { feed, resumes, states, maxQueueBytes } = context
  const state = () => snapshot({ scope, key, selection }, states)
  const send = (owed: readonly Uint8Array[]) => catchUp(newcomer, owed, maxQueueBytes)
  const sendGap = (from: string) => {
    const now = state()
    send([gapMessage(from, now), ...now])
  }
  // Of a listener no past is kept, so it just gets what it would see now.
  if (scope === 'listener') send(feed.snapshot(key, selection))
  else if (asked === null) send(state())
  else {
    const replay = (found: Replay) => {
      if (found === null) sendGap(asked.text)
      else send(found.filter(isWanted(selection)).map(({ bytes }) => bytes))
    }
    const found = resumes.find(scope, key, asked)
    if (found instanceof Promise) void found.then(replay)
    else replay(found)
  }
}

/** Sends what is owed as the client takes it, then lets it go live. */
function catchUp(
  { client, outlet, together, live, overrun }: Newcomer,
  owed: readonly Uint8Array[],
  maxQueueBytes: number,
): void {
  const { topic } = client
  // It has gone while the log was read.
  if (topic === null) return
  client.readUpTo = topic.published
  const catchUp = new CatchUp(outlet, owed, maxQueueBytes, {
    done() {
      topic.catchingUp.delete(catchUp)
      client.catchUp = null
      live()
    },
    overrun,
  })
  client.catchUp = catchUp
  topic.catchingUp.add(catchUp)
  together(() => catchUp.pump())
}

/** The current state of a channel or station: `next` before `now`, for some clients take every message for the current track. */
export function snapshot(
  { scope, key, selection }: Pick<Client, 'scope' | 'key' | 'selection'>,
  states: ChannelStates,
): Uint8Array[] {
  const wanted = (channel: ShownChannel) => recordsOf(channel, selection).reverse()
  if (scope === 'channel') {
    const channel = states.channel(key)
    return channel === undefined ? [] : wanted(channel).map(record => record.bytes)
  }
  const channels = [...(states.station(key)?.channels.values() ?? [])]
  return channels
    .flatMap(wanted)
    .filter(record => record.stationkey === key)
    .map(record => record.bytes)
}

function isWanted(selection: Selection): (record: { type: 'now' | 'next' }) => boolean {
  return ({ type }) => selection === 'all' || selection === type
}
