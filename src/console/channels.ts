// The channels of the console's API.
import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import { ChannelAnswer, ChannelBody, ChannelQuery, KeyParams } from '../api/console.ts'
import { Problem } from '../api/errors.ts'
import { generateToken } from '../domain/keys.ts'
import { type Channel, type ChannelSettings, plainChannel } from '../domain/registry.ts'
import { toNfc } from '../domain/text.ts'
import { mountAnswers, mountsOf } from './mounts.ts'
import { type ApiApp, type ConsoleParts, requireSameKey, zoneOf } from './parts.ts'

/** How long a removal may take to reach the log, as for a push (rule 1). */
const appendDeadlineMs = 9_000

export function channelRoutes(app: ApiApp, parts: ConsoleParts): void {
  const { registry, mounts, writes } = parts
  const answerOf = (channel: Channel): ChannelAnswer => ({
    ...settingsOf(channel),
    mounts: mountAnswers(mounts.get(channel.key), mounts.states(channel.key)),
  })

  app.get(
    '/channels',
    { schema: { querystring: ChannelQuery, response: { 200: Type.Array(ChannelAnswer) } } },
    async request => registry.channels(request.query.station).map(answerOf),
  )

  app.get(
    '/channels/:key',
    { schema: { params: KeyParams, response: { 200: ChannelAnswer } } },
    async request => {
      const found = await registry.findChannel(request.params.key)
      if (found === undefined) throw new Problem('unknown-channel')
      return answerOf(found.value)
    },
  )

  app.put(
    '/channels/:key',
    { schema: { params: KeyParams, body: ChannelBody, response: { '2xx': ChannelAnswer } } },
    async (request, reply) => {
      const channel = channelOf(request.params.key, request.body)
      const token = await writes.run(() => putChannel(parts, channel, request.body.mounts))
      const answer = token === null ? answerOf(channel) : { ...answerOf(channel), token }
      return reply.code(token === null ? 200 : 201).send(answer)
    },
  )

  app.delete('/channels/:key', { schema: { params: KeyParams } }, async (request, reply) => {
    await writes.run(() => deleteChannel(parts, request.params.key))
    return reply.code(204).send()
  })
}

/** Resolves to the first push token of a channel that is new, else to null. */
async function putChannel(
  parts: ConsoleParts,
  channel: ChannelSettings,
  mounts: ChannelBody['mounts'],
): Promise<string | null> {
  const { registry, tokens, log } = parts
  if ((await registry.findStation(channel.station)) === undefined)
    throw new Problem('unknown-station', `No station has the key ${channel.station}; create it first.`)
  const before = await registry.findChannel(channel.key)
  // A deletion that broke off half-way must not leave its state, tokens and mounts to the successor.
  if (before === undefined) await finishRemoval(parts, channel.key)
  const mountsBefore = before === undefined ? [] : await parts.mounts.find(channel.key)
  const mountsAfter = mountsOf(mounts, mountsBefore)
  // Putting the same again changes nothing, so a tool may do it as often as it likes.
  const same = before !== undefined && isDeepStrictEqual(settingsOf(before.value), channel)
  const created = !same && (await registry.putChannel(channel)).created
  if (created || !isDeepStrictEqual(mountsBefore, mountsAfter))
    await parts.mounts.put(channel.key, mountsAfter)
  if (!created) return null
  await tokens.revokeAll(channel.key)
  const token = generateToken()
  await tokens.add(channel.key, token, 'first')
  log.info({ channelkey: channel.key, station: channel.station }, 'channel created')
  return token
}

/** Edges close its sockets when the registry entry goes (4404); the projector takes what it shows at the event. */
async function deleteChannel(parts: ConsoleParts, key: string): Promise<void> {
  const { registry, tokens, mounts, events, log } = parts
  const { removed, revision } = await registry.removeChannel(key)
  if (!removed) throw new Problem('unknown-channel')
  await tokens.revokeAll(key)
  await mounts.remove(key)
  await appendRemoval(events, key, revision)
  log.info({ channelkey: key }, 'channel deleted')
}

/** Says the removal of an earlier channel of this key again: where it was said already, that changes nothing. */
async function finishRemoval({ registry, events }: ConsoleParts, key: string): Promise<void> {
  const revision = await registry.channelRemoval(key)
  if (revision > 0) await appendRemoval(events, key, revision)
}

function appendRemoval(events: ConsoleParts['events'], key: string, revision: number): Promise<unknown> {
  const event = { v: 1, kind: 'delete', revision } as const
  return events.append(key, event, `~delete.${key}.${revision}`, appendDeadlineMs)
}

function settingsOf({ life: _, ...settings }: Channel): ChannelSettings {
  return settings
}

function channelOf(key: string, body: ChannelBody): ChannelSettings {
  requireSameKey(key, body.key)
  const { fallback } = body
  const plain = plainChannel(key, body.station, toNfc(body.name))
  return {
    ...plain,
    timezone: zoneOf(body),
    cover: body.cover ?? plain.cover,
    holdSeconds: body.holdSeconds ?? plain.holdSeconds,
    fallback: fallback ? { ...fallback, song: toNfc(fallback.song), artist: toNfc(fallback.artist) } : null,
    announceNext: body.announceNext ?? plain.announceNext,
    history: body.history ?? plain.history,
  }
}
