// Polling (spec 4.3, rules 20 to 23). Answered from memory and, but for keys never seen here, at once.
import { Problem } from '../api/errors.ts'
import type { ChannelStates } from './channel-state.ts'
import type { Directory } from './directory.ts'
import type { Exchange } from './exchange.ts'
import { type Answer, nothing, preflight, represent } from './headers.ts'
import type { ListenerPolls } from './listener-polls.ts'
import { channelJson, channelText, emptyArray, stationJson } from './representation.ts'
import { type PollRoute, pollSelection, type Selection } from './route.ts'

/** What requests are served from. */
export type Serving = {
  readonly states: ChannelStates
  readonly directory: Directory
  readonly listeners: ListenerPolls
  /** false until the first snapshot of the log is complete. */
  loaded(): boolean
  draining(): boolean
}

/** Answers a poll. Throws or rejects with a Problem. */
export function poll(exchange: Exchange, route: PollRoute, serving: Serving): Promise<void> | void {
  const { method, query, headers } = exchange
  if (method !== 'get' && method !== 'head' && method !== 'options') throw new Problem('method-not-allowed')
  refuseBody(exchange)
  if (method === 'options') return exchange.reply(preflight)
  requireLoaded(serving)
  const selection = pollSelection(query, route.form)
  const reply = (answer: Answer) => exchange.reply(answer, serving.draining())
  return serving.directory.whenKnown(route.scope, route.key, () =>
    route.scope === 'listener'
      ? serving.listeners.answer(route, selection, headers.ifNoneMatch, reply)
      : reply(answer(route, selection, headers.ifNoneMatch, serving.states)),
  )
}

/** Answers OPTIONS on a path that is none of ours. Throws a Problem at any other method. */
export function nowhere(exchange: Exchange): void {
  if (exchange.method !== 'options') throw new Problem('not-found')
  refuseBody(exchange)
  exchange.reply(preflight)
}

/**
 * The library consumes no body that nobody reads, takes the first of two Content-Lengths and does not check chunks:
 * so whatever announces a body is refused, and its connection closed.
 */
export function refuseBody({ headers }: Exchange): void {
  if (headers.hasBody) throw new Problem('malformed', 'This request must have no body.')
}

/** An edge that has not loaded yet does not know what is unknown: 503, never 404 (rule 20). */
export function requireLoaded(serving: Serving): void {
  if (!serving.loaded()) throw new Problem('loading', undefined, { retryAfter: 1 })
}

function answer(
  { scope, key, form }: PollRoute,
  selection: Selection,
  ifNoneMatch: string,
  states: ChannelStates,
): Answer {
  if (scope === 'station') {
    const station = states.station(key)
    return represent(station === undefined ? emptyArray : stationJson(station, selection), ifNoneMatch)
  }
  const channel = states.channel(key)
  if (channel === undefined) return nothing
  const body =
    form === 'json' || selection === 'all' ? channelJson(channel, selection) : channelText(channel, selection)
  return body === null ? nothing : represent(body, ifNoneMatch)
}
