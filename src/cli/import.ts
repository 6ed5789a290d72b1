// `import`: the events of a file become the beginning of an empty log.
import { setTimeout as wait } from 'node:timers/promises'
import { timezoneName } from '../domain/zone.ts'
import { type LogConnection, LogUnavailable } from '../log/connection.ts'
import { ImportLog } from '../log/import-log.ts'
import { StartError } from '../observe/service.ts'
import type { Call, Command } from './command.ts'
import { eventsOf } from './import-file.ts'
import { fingerprintOf } from './lines.ts'
import { withLog } from './log-access.ts'
import { count, type Progress } from './progress.ts'

export const importCommand: Command = {
  name: 'import',
  operands: ['file'],
  description: "Begin an empty log with an export's file, or with a list of plays (CSV or NDJSON)",
  flags: [
    {
      flag: 'timezone',
      type: 'string',
      description: 'IANA name of the zone of a list whose times have none; left out: UTC',
    },
  ],
  run: importFile,
}

/** Tries in a row that brought nothing, before it is given up. */
const maxTries = 10
const againMs = 1_000

async function importFile({ config, flags, operands: [file = ''], output }: Call): Promise<void> {
  const asked = flags.text('timezone') ?? 'UTC'
  const zone = timezoneName(asked)
  if (zone === undefined)
    throw new StartError(`--timezone is ${JSON.stringify(asked)}; it must be an IANA name`)
  const total = await checked(file, zone, output.progress('check'))
  const id = await fingerprintOf(file, zone)
  const progress = output.progress('import')
  const before = await withLog(config, 'import', connection =>
    importAll(connection, { file, zone, id, total, progress }),
  ).finally(() => progress.end())
  if (before === null) return output.line(`all ${count(total)} events of ${file} are in the log already`)
  const resumed = before === 0 ? '' : ` (${count(before)} of them before)`
  output.line(`${count(total)} events imported${resumed}`)
  output.line('stations, channels and tokens are not part of it: make them with `nownext apply FILE`')
}

/** How many events the file holds; every line is read before the first is written. Throws a StartError. */
async function checked(file: string, zone: string, progress: Progress): Promise<number> {
  let events = 0
  for await (const _ of eventsOf(file, zone)) progress.update(++events, events)
  progress.end()
  if (events === 0) throw new StartError(`${file} holds no events`)
  return events
}

type Import = { file: string; zone: string; id: string; total: number; progress: Progress }

/** Resolves to how many events were in the log already; null: all, and it was finished. */
async function importAll(connection: LogConnection, job: Import): Promise<number | null> {
  const log = new ImportLog(connection, job.id)
  let first: number | null | undefined
  let furthest = -1
  for (let tries = 0; ; tries++) {
    try {
      const begun = await log.begin()
      first ??= begun
      if (begun === null) return first === null ? null : (first ?? 0)
      if (begun > furthest) tries = 0
      furthest = Math.max(furthest, begun)
      await importFrom(log, begun, job)
      return first ?? 0
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error
      if (tries >= maxTries)
        throw new StartError(`${error.message}; run the import again, and it goes on where it was`)
      await wait(againMs)
    }
  }
}

async function importFrom(
  log: ImportLog,
  begun: number,
  { file, zone, total, progress }: Import,
): Promise<void> {
  let number = 0
  for await (const event of eventsOf(file, zone)) {
    if (number++ < begun) continue
    await log.append(event)
    progress.update(log.stored, total)
  }
  await log.finish()
}
