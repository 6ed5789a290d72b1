// The history for the operator: the whole of it, whatever the channel's option (rule 27).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { KeyParams } from '../api/console.ts'
import { Problem } from '../api/errors.ts'
import {
  encodeHistory,
  type HistoryForm,
  historyContentType,
  nextLink,
  nextPage,
  readHistoryQuery,
} from '../api/history.ts'
import { encodeOperatorRow } from '../domain/history.ts'
import { type Station, zoneOf } from '../domain/registry.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { HistoryPage, HistoryRequest } from '../log/history.ts'
import { TooManyReads } from '../log/read-budget.ts'
import type { ApiApp, ConsoleParts } from './parts.ts'

const forms = ['json', 'csv'] as const

/** Whose history it is. */
type Subject = { channelkeys: string[]; stationkey: string | null; zone: string }

export function historyRoutes(app: ApiApp, parts: ConsoleParts): void {
  for (const form of forms) {
    app.get(`/channels/:key/history.${form}`, { schema: { params: KeyParams } }, async (request, reply) =>
      answer(parts, form, await channelSubject(parts, request.params.key), request, reply),
    )
    app.get(`/stations/:key/history.${form}`, { schema: { params: KeyParams } }, async (request, reply) =>
      answer(parts, form, await stationSubject(parts, request.params.key), request, reply),
    )
  }
}

async function channelSubject({ registry }: ConsoleParts, key: string): Promise<Subject> {
  const channel = await registry.findChannel(key)
  if (channel === undefined) throw new Problem('unknown-channel')
  const station = await registry.findStation(channel.value.station)
  const orphan: Station = { key: channel.value.station, name: '', timezone: null }
  return { channelkeys: [key], stationkey: null, zone: zoneOf(channel.value, station?.value ?? orphan) }
}

async function stationSubject({ registry }: ConsoleParts, key: string): Promise<Subject> {
  const station = await registry.findStation(key)
  if (station === undefined) throw new Problem('unknown-station')
  const channelkeys = registry.channels(key).map(channel => channel.key)
  return { channelkeys, stationkey: key, zone: station.value.timezone ?? 'UTC' }
}

async function answer(
  { history }: ConsoleParts,
  form: HistoryForm,
  { channelkeys, stationkey, zone }: Subject,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [path = '', query = ''] = request.url.split('?', 2)
  const parameters = new URLSearchParams(query)
  const { filter, limit, before } = readHistoryQuery(parameters, {
    nowMs: Date.now(),
    zone,
    sequenceOf: position => history.sequenceOf(position),
  })
  const channels = channelkeys.map(channelkey => ({ channelkey, recent: false }))
  const page = await pageOf(history, { channels, filter: { ...filter, stationkey }, limit, before })
  if (page.next !== null)
    reply.header('Link', nextLink(nextPage(path, parameters, history.positionOf(page.next))))
  const text = await encodeHistory(form, page.rows, encodeOperatorRow, sequence =>
    history.positionOf(sequence),
  )
  // As bytes: Fastify would change the content type.
  return reply.header('Content-Type', historyContentType(form)).send(Buffer.from(text))
}

async function pageOf(history: ConsoleParts['history'], request: HistoryRequest): Promise<HistoryPage> {
  try {
    return await history.page(request)
  } catch (error) {
    if (error instanceof TooManyReads) throw new Problem('too-many-reads', undefined, { retryAfter: 1 })
    if (error instanceof LogUnavailable)
      throw new Problem('unavailable', 'The history cannot be read now.', { retryAfter: 1 })
    throw error
  }
}
