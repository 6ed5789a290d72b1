// The use case: one push, from its receipt to its answer, whatever brought it here. It is answered only after its
// event is stored (rule 1).
import { randomUUID } from 'node:crypto'
import { type FieldError, Problem } from '../api/errors.ts'
import type { PushResponse } from '../api/push.ts'
import { judgeClock } from '../domain/clock.ts'
import type { ChannelContext, PushEvent } from '../domain/event.ts'
import { isKey } from '../domain/keys.ts'
import { isOn, overlayOf } from '../domain/listener.ts'
import type { Decoded, DecodeFacts } from '../domain/normalise.ts'
import { contextOf } from '../domain/registry.ts'
import { makeResponse } from '../domain/response.ts'
import type { EventLog } from '../log/event-log.ts'
import type { Listeners } from '../log/listeners.ts'
import type { Registry } from '../log/registry.ts'
import type { Tokens } from '../log/tokens.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { AppendQueue, Place } from './append-queue.ts'
import { makeElementId } from './element-id.ts'
import type { PushRate } from './push-rate.ts'
import { inTurn } from './turn.ts'
import type { WrongTokens } from './wrong-tokens.ts'

/** What a request says of who sends it. */
export type Credentials = {
  channelkey: string
  /** undefined: none was sent. */
  token: string | undefined
  /** Address of the sender. */
  address: string
}

/** `metaid`: the push is for this listener only (rule 18). */
export type DecodedPush = Decoded & { metaid?: string }

/** A push that has arrived whole. */
export type Push = Credentials & {
  /** The header Idempotency-Key as sent (rule 11). */
  idempotencyKey: string | undefined
  /** Reads what was pushed; may throw a Problem. Called once the token has matched. */
  decode(facts: DecodeFacts): DecodedPush
}

export type AcceptPush = (push: Push) => Promise<PushResponse>

/** What it takes to know a sender. */
export type CredentialsParts = {
  registry: Pick<Registry, 'channel' | 'findChannel' | 'readChannel' | 'findStation'>
  tokens: Pick<Tokens, 'matchesHere' | 'matches'>
  wrongTokens: WrongTokens
  metrics: Pick<Metrics, 'intakeAppend' | 'intakeRejected'>
}

export type PushParts = CredentialsParts & {
  events: Pick<EventLog, 'append'>
  listeners: Pick<Listeners, 'change'>
  queue: AppendQueue
  rate: PushRate
  /** Unix milliseconds. */
  clock: () => number
  /** Name of this intake process. */
  intake: string
}

/** What the registry says of a channel that is there. */
export type KnownChannel = { context: ChannelContext; life: number }

const idempotencyKey = /^[!-~]{1,64}$/

/**
 * The function that accepts pushes. It must be called in the order in which they arrived; it takes the place in the
 * channel's line before its first await. Resolves to the answer of spec 2.2; throws a Problem: 404 unknown channel,
 * 403 wrong token, 429, 400, and 503 when the event is not known to be stored.
 */
export function acceptPushes(parts: PushParts): AcceptPush {
  const { queue, metrics, clock } = parts
  return async push => {
    const receivedMs = clock()
    const arrived = performance.now()
    const isKnown = isKnownHere(parts, push)
    return await inTurn(queue, push.channelkey, isKnown, async place => {
      const known = await requireSender(parts, push, isKnown, place)
      requireRate(parts, push)
      const { event, messageId, metaid } = makeEvent(parts, push, known, receivedMs)
      await place.turn()
      if (metaid === undefined)
        await place.inTime(parts.events.append(push.channelkey, event, messageId, place.leftMs()))
      else await place.inTime(overlay(parts, push.channelkey, metaid, event))
      metrics.intakeAppend.observe((performance.now() - arrived) / 1000)
      return answer(push.channelkey, event, metaid !== undefined)
    })
  }
}

/** Lays a push over the channel for one listener (rule 18). Throws 404 where that one is not on the channel. */
async function overlay(
  { listeners }: PushParts,
  channelkey: string,
  metaid: string,
  event: PushEvent,
): Promise<void> {
  await listeners.change(metaid, before => {
    if (!isOn(before, channelkey)) throw new Problem('unknown-listener')
    return { ...before, overlay: overlayOf(channelkey, event) }
  })
}

/** Whether channel and token are right by what is known here and now: those of a sender who may take a place. */
export function isKnownHere(
  { registry, tokens }: Pick<CredentialsParts, 'registry' | 'tokens'>,
  { channelkey, token }: Credentials,
): boolean {
  if (token === undefined || registry.channel(channelkey) === undefined) return false
  return tokens.matchesHere(channelkey, token)
}

/**
 * The channel of a sender whose token is right; `isKnown`: as isKnownHere says. A token that was not seen here yet may be
 * that of a channel made anew since: a push for its former life would be taken and never shown, so the channel is read
 * again. Throws 404, 403, 429.
 */
export async function requireSender(
  parts: CredentialsParts,
  credentials: Credentials,
  isKnown: boolean,
  place: Place,
): Promise<KnownChannel> {
  const channel = await requireChannel(parts, credentials, place)
  if (isKnown) return channel
  await requireToken(parts, credentials, place)
  return await requireChannel(parts, credentials, place, 'readChannel')
}

/** What the registry says of the channel. Throws 404. */
async function requireChannel(
  { registry }: Pick<CredentialsParts, 'registry'>,
  { channelkey }: Credentials,
  place: Place,
  look: 'findChannel' | 'readChannel' = 'findChannel',
): Promise<KnownChannel> {
  const entry = isKey(channelkey) ? await place.inTime(registry[look](channelkey)) : undefined
  if (entry === undefined) throw new Problem('unknown-channel')
  const { value: channel, revision } = entry
  const station = await place.inTime(registry.findStation(channel.station))
  // A station that is not there yet must not silence its channel: the key stands for its name.
  const fallback = { key: channel.station, name: '', timezone: null }
  return { context: contextOf(channel, station?.value ?? fallback, revision), life: channel.life ?? 0 }
}

/** Throws 403, and 429 where that was one wrong token too many (rule 12). */
async function requireToken(parts: CredentialsParts, push: Credentials, place: Place): Promise<void> {
  const { tokens, wrongTokens, metrics } = parts
  // A request without any is how some clients ask whether one is needed; it guesses nothing, so it does not count.
  if (push.token === undefined) throw new Problem('wrong-token', 'No push token was sent.')
  if (await place.inTime(tokens.matches(push.channelkey, push.token))) return
  const retryAfter = wrongTokens.note(push.address, performance.now())
  if (retryAfter === 0) throw new Problem('wrong-token')
  metrics.intakeRejected.inc({ limit: 'wrong-tokens' })
  throw new Problem('too-many-wrong-tokens', undefined, { retryAfter })
}

function requireRate({ rate, metrics }: PushParts, { channelkey }: Push): void {
  const retryAfter = rate.charge(channelkey, performance.now())
  if (retryAfter === 0) return
  metrics.intakeRejected.inc({ limit: 'push-rate' })
  throw new Problem('too-many-pushes', undefined, { retryAfter })
}

function makeEvent(
  parts: PushParts,
  push: Push,
  { context, life }: KnownChannel,
  receivedMs: number,
): { event: PushEvent; messageId: string; metaid: string | undefined } {
  const { channelkey } = push
  const key = push.idempotencyKey || undefined
  const decoded = push.decode({ arrivalMs: receivedMs, zone: context.timezone })
  const errors = [...keyFaults(key), ...(decoded.ok ? [] : decoded.errors)]
  if (!decoded.ok || errors.length > 0) throw new Problem('invalid', undefined, { errors })
  const { element, given, tracktype, time, warnings } = decoded
  const { startMs, explicit, warning } = judgeClock(
    time.explicitMs,
    receivedMs,
    context.holdSeconds,
    tracktype,
  )
  const messageId = key === undefined ? randomUUID() : repeatableId(channelkey, life, key)
  const event: PushEvent = {
    v: 1,
    kind: tracktype,
    element: element.id === '' ? { ...element, id: makeElementId(key && messageId) } : element,
    given,
    startMs,
    explicit,
    receivedMs,
    intake: parts.intake,
    warnings: warning === null ? warnings : [...warnings, warning],
    context,
  }
  return { event, messageId, metaid: decoded.metaid }
}

/**
 * The message id of an Idempotency-Key, on every intake the same. A channelkey holds no dot and no tilde, so no two
 * channels share one, nor two lives of a key: what was pushed before a removal is not what is pushed after it.
 */
function repeatableId(channelkey: string, life: number, key: string): string {
  return life === 0 ? `${channelkey}.${key}` : `${channelkey}~${life}.${key}`
}

function keyFaults(key: string | undefined): FieldError[] {
  if (key === undefined || idempotencyKey.test(key)) return []
  return [{ field: 'Idempotency-Key', message: 'must be at most 64 visible ASCII characters' }]
}

function answer(channelkey: string, event: PushEvent, userplayout: boolean): PushResponse {
  const { element, startMs, kind: tracktype, context, warnings } = event
  return makeResponse({ channelkey, element, startMs, tracktype, context, warnings, userplayout })
}
