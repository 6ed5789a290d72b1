// `export`: what was said, as a file, for another cluster or for people.
import { setTimeout as wait } from 'node:timers/promises'
import { isKey } from '../domain/keys.ts'
import { readTime } from '../domain/time.ts'
import { EventLog, type RawEvent, wakeKey } from '../log/event-log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { StartError } from '../observe/service.ts'
import type { Call, Command, CommandFlags } from './command.ts'
import { type EventFormat, eventFormats } from './event-lines.ts'
import { type ExportTarget, openFile, standardOutput } from './export-target.ts'
import { withLog } from './log-access.ts'
import { count } from './progress.ts'

export const exportCommand: Command = {
  name: 'export',
  operands: [],
  description: 'Write the log of events to a file; one that was begun is continued',
  flags: [
    {
      flag: 'format',
      type: 'string',
      choices: ['ndjson', 'csv'],
      description: 'ndjson (all events as they are; left out: this) or csv (the pushes, for spreadsheets)',
    },
    { flag: 'channel', type: 'string', description: 'Only this channelkey' },
    { flag: 'from', type: 'string', description: 'First event: its sequence, or a time' },
    { flag: 'output', type: 'path', description: 'File to write or to continue; left out: standard output' },
  ],
  run: exportEvents,
}

/** After each batch, so long in relation to what it took: live delivery comes first. */
const restPerWork = 1

async function exportEvents({ config, flags, output }: Call): Promise<void> {
  const format = (flags.text('format') ?? 'ndjson') as EventFormat
  const channelkey = flags.text('channel')
  if (channelkey !== undefined && !isKey(channelkey))
    throw new StartError(`--channel is ${JSON.stringify(channelkey)}, which is no channelkey`)
  const file = flags.text('output')
  const target = file === undefined ? standardOutput(output) : await openFile(file, format)
  if (target.last > 0) output.note(`${file} ends with event ${target.last}: it is continued`)
  const progress = output.progress('export')
  try {
    const written = await withLog(config, 'export', async connection => {
      const events = new EventLog(connection, createMetrics())
      const { firstSequence, lastSequence } = await events.extent().catch(noLog)
      if (target.last > lastSequence)
        throw new StartError(`${file} is of another log: this one ends with event ${lastSequence}`)
      const from = Math.max(target.last + 1, await firstOf(events, flags, firstSequence))
      if (target.last === 0) await target.write(eventFormats[format].head)
      return await writeAll(events, target, { format, from, to: lastSequence, channelkey }, at =>
        progress.update(at - from, lastSequence - from),
      )
    })
    progress.end()
    output.note(`${count(written.events)} events written`)
    if (written.unreadable > 0)
      output.warning(`${count(written.unreadable)} messages of the log that are no events were left out`)
  } finally {
    progress.end()
    await target.close()
  }
}

function noLog(error: unknown): never {
  if (error instanceof Error && /stream not found/.test(error.message))
    throw new StartError('this NATS has no log of nownext yet')
  throw error
}

/** The sequence of --from. Throws a StartError. */
async function firstOf(events: EventLog, flags: CommandFlags, firstSequence: number): Promise<number> {
  const text = flags.text('from')
  if (text === undefined) return firstSequence
  // Sequences are small numbers, and unix times are not: 1e9 is the year 2001.
  if (/^\d{1,9}$/.test(text)) return Math.max(firstSequence, Number(text))
  const reading = readTime(text, { arrivalMs: Date.now(), zone: 'UTC', pushedZone: '' })
  if (!reading.ok || reading.explicitMs === null)
    throw new StartError(
      `--from is ${JSON.stringify(text)}; it must be a sequence or a time (RFC 3339, unix)`,
    )
  return await events.sequenceAt(reading.explicitMs)
}

type Span = { format: EventFormat; from: number; to: number; channelkey: string | undefined }

async function writeAll(
  events: EventLog,
  target: ExportTarget,
  { format, from, to, channelkey }: Span,
  reached: (sequence: number) => void,
): Promise<{ events: number; unreadable: number }> {
  const { line } = eventFormats[format]
  const written = { events: 0, unreadable: 0 }
  let startedMs = performance.now()
  for await (const batch of events.readBatches(from, to, channelkey)) {
    let text = ''
    for (const event of batch.filter(isOfChannel)) {
      const one = line(event)
      if (one !== null) written.events++
      else if (format === 'ndjson') written.unreadable++
      text += one ?? ''
    }
    await target.write(text)
    reached(batch.at(-1)?.sequence ?? from)
    await wait((performance.now() - startedMs) * restPerWork)
    startedMs = performance.now()
  }
  return written
}

function isOfChannel({ subject }: RawEvent): boolean {
  return !subject.startsWith(`event.${wakeKey}.`)
}
