// What a new socket or stream is sent first, and how it goes live from there (rules 24 to 26).
import type { Client } from './audience.ts'
import { CatchUp, type Outlet } from './catch-up.ts'
import { type ChannelStates, snapshot } from './channel-state.ts'
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
  /** Runs what sends several records later than at open, so that they go out together. */
  together(send: () => void): void
  /** All that it was owed is sent: from this tick on it gets what is published. */
  live(): void
  /** It does not read what comes meanwhile. */
  overrun(): void
}

/**
 * To be called at open, once the client is counted in: the library then gathers by itself what is sent, the answer to
 * the upgrade too.
 */
export function welcome(newcomer: Newcomer, context: WelcomeContext): void {
  const { client, together } = newcomer
  const { topic, comeback } = client
  if (topic === null) return
  const { scope, key, selection } = topic
  const { feed, resumes, states, maxQueueBytes } = context
  const send = (owed: readonly Uint8Array[]) => catchUp(newcomer, owed, maxQueueBytes)
  const sendGap = (from: string) => {
    const now = snapshot(topic, states)
    send([gapMessage(from, now), ...now])
  }
  // Of a listener no past is kept, so it just gets what it would see now.
  if (scope === 'listener') send(feed.snapshot(key, selection))
  else if (comeback === null) send(snapshot(topic, states))
  else {
    const { asked } = comeback
    const replay = (found: Replay) => {
      if (found === null) sendGap(asked.text)
      else send(found.filter(isWanted(selection)).map(({ bytes }) => bytes))
    }
    const found = resumes.find(scope, key, asked)
    if (!(found instanceof Promise)) replay(found)
    else
      void found.then(found => {
        // It may have gone while the log was read.
        if (client.topic !== null) together(() => replay(found))
      })
  }
}

/** Sends what is owed as the client takes it, then lets it go live. */
function catchUp(
  { client, outlet, live, overrun }: Newcomer,
  owed: readonly Uint8Array[],
  maxQueueBytes: number,
): void {
  const { topic } = client
  if (topic === null) return
  client.readUpTo = topic.published
  const catchUp = new CatchUp(outlet, owed, maxQueueBytes, {
    done() {
      if (client.catchUp !== null) topic.catchingUp.delete(catchUp)
      client.catchUp = null
      live()
    },
    overrun,
  })
  const isDone = catchUp.pump()
  if (isDone || client.topic === null) return
  // Only now, for nearly all take everything at once.
  client.catchUp = catchUp
  topic.catchingUp.add(catchUp)
}

function isWanted(selection: Selection): (record: { type: 'now' | 'next' }) => boolean {
  return ({ type }) => selection === 'all' || selection === type
}
