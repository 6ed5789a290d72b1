// Stations, by the console.
import type { StationAnswer } from '../api/console.ts'
import { type Call, type Command, jsonFlag } from './command.ts'
import { ConsoleApi } from './http.ts'

export const stationCommands: readonly Command[] = [
  {
    name: 'station set',
    operands: ['stationkey'],
    description: 'Make a station, or change what is given of it',
    flags: [
      { flag: 'name', type: 'string', description: 'Display name' },
      { flag: 'timezone', type: 'string', description: 'IANA name such as Europe/Berlin; empty for UTC' },
    ],
    run: setStation,
  },
  {
    name: 'station list',
    operands: [],
    description: 'List the stations',
    flags: [jsonFlag],
    run: listStations,
  },
  {
    name: 'station rm',
    operands: ['stationkey'],
    description: 'Delete a station that has no channels',
    flags: [],
    run: removeStation,
  },
]

async function setStation({ config, flags, operands: [key = ''], output }: Call): Promise<void> {
  const name = flags.text('name')
  const timezone = flags.text('timezone')
  const { status } = await new ConsoleApi(config).change(`/stations/${encodeURIComponent(key)}`, () => ({
    ...(name !== undefined && { name }),
    ...(timezone !== undefined && { timezone: timezone || null }),
  }))
  output.line(`station ${key} ${status === 201 ? 'created' : 'set'}`)
}

async function listStations({ config, flags, output }: Call): Promise<void> {
  const { body } = await new ConsoleApi(config).ask('GET', '/stations')
  if (flags.has('json')) return output.json(body)
  const rows = (body as StationAnswer[]).map(({ key, name, timezone }) => [key, name, timezone ?? 'UTC'])
  output.table(['STATION', 'NAME', 'TIMEZONE'], rows, 'no stations')
}

async function removeStation({ config, operands: [key = ''], output }: Call): Promise<void> {
  await new ConsoleApi(config).ask('DELETE', `/stations/${encodeURIComponent(key)}`)
  output.line(`station ${key} deleted`)
}
