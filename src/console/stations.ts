// The stations of the console's API.
import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import { KeyParams, StationAnswer, StationBody } from '../api/console.ts'
import { Problem } from '../api/errors.ts'
import type { Station } from '../domain/registry.ts'
import { toNfc } from '../domain/text.ts'
import { type ApiApp, type ConsoleParts, requireSameKey, zoneOf } from './parts.ts'

export function stationRoutes(app: ApiApp, { registry, writes, log }: ConsoleParts): void {
  app.get('/stations', { schema: { response: { 200: Type.Array(StationAnswer) } } }, async () =>
    registry.stations(),
  )

  app.get(
    '/stations/:key',
    { schema: { params: KeyParams, response: { 200: StationAnswer } } },
    async request => {
      const found = await registry.findStation(request.params.key)
      if (found === undefined) throw new Problem('unknown-station')
      return found.value
    },
  )

  app.put(
    '/stations/:key',
    { schema: { params: KeyParams, body: StationBody, response: { '2xx': StationAnswer } } },
    async (request, reply) => {
      const station = stationOf(request.params.key, request.body)
      const created = await writes.run(async () => {
        const before = await registry.findStation(station.key)
        // Putting the same again changes nothing, so a tool may do it as often as it likes.
        if (!isDeepStrictEqual(before?.value, station)) await registry.putStation(station)
        return before === undefined
      })
      if (created) log.info({ station: station.key }, 'station created')
      return reply.code(created ? 201 : 200).send(station)
    },
  )

  app.delete('/stations/:key', { schema: { params: KeyParams } }, async (request, reply) => {
    const { key } = request.params
    await writes.run(async () => {
      const channels = registry.channels(key).length
      if (channels > 0)
        throw new Problem(
          'conflict',
          `The station ${key} still has ${channels} channel(s); delete them first.`,
        )
      if (!(await registry.removeStation(key))) throw new Problem('unknown-station')
    })
    log.info({ station: key }, 'station deleted')
    return reply.code(204).send()
  })
}

function stationOf(key: string, body: StationBody): Station {
  requireSameKey(key, body.key)
  return { key, name: toNfc(body.name), timezone: zoneOf(body) }
}
