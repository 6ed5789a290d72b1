// The file of an import: an export's NDJSON or CSV, or a plain list of plays in either form.
import { members } from '../domain/json.ts'
import type { ImportedEvent } from '../log/import-log.ts'
import { StartError } from '../observe/service.ts'
import { csvFields, delimiterOf, isOpen } from './csv.ts'
import { playFieldNames, readEventLine } from './event-lines.ts'
import { type Line, linesOf } from './lines.ts'
import { type PlayFields, readPlay } from './play-lines.ts'

const known = new Set<string>(playFieldNames)
/** A quote that is not closed would take the rest of the file for one field. */
const maxRecordLines = 100

/**
 * The events of a file, in order. zone: in which times without one are read. Throws a StartError that names the first
 * line at fault.
 */
export async function* eventsOf(file: string, zone: string): AsyncGenerator<ImportedEvent> {
  let lastMs = Number.NEGATIVE_INFINITY
  for await (const { number, read } of recordsOf(file, zone)) {
    const event = typeof read === 'string' ? read : inOrder(read, lastMs)
    if (typeof event === 'string') throw new StartError(`${file}, line ${number}: ${event}`)
    lastMs = event.timeMs
    yield event
  }
}

type Record_ = { number: number; read: (ImportedEvent & { ofLog?: boolean }) | string }

/** The log of a cluster may step back by the difference of two clocks; a list that is not sorted is a mistake. */
function inOrder(event: ImportedEvent & { ofLog?: boolean }, lastMs: number): ImportedEvent | string {
  const { ofLog, ...rest } = event
  if (event.timeMs >= lastMs) return rest
  if (ofLog === true) return { ...rest, timeMs: lastMs }
  return 'its time lies before that of the line before it; sort the file by time'
}

async function* recordsOf(file: string, zone: string): AsyncGenerator<Record_> {
  let csv: CsvReader | undefined
  for await (const line of linesOf(file)) {
    if (line.text.trim() === '' && !csv?.isOpen) continue
    if (csv !== undefined) yield* csv.take(line)
    else if (line.text.trimStart().startsWith('{')) yield { number: line.number, read: readJson(line, zone) }
    else csv = CsvReader.of(line, file, zone)
  }
  yield* csv?.end() ?? []
}

function readJson({ text }: Line, zone: string): Record_['read'] {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return 'not JSON, or cut off'
    throw error
  }
  if ('event' in value) {
    const read = readEventLine(value)
    return typeof read === 'string' ? read : { ...read, ofLog: true }
  }
  const fields = new Map<string, string>()
  for (const [name, source] of members(text)) {
    const field = value[name]
    if (field !== null) fields.set(name, typeof field === 'string' ? field : source)
  }
  return readPlay(fields, zone)
}

/** Records of comma-separated values; a quoted field may hold line ends. */
class CsvReader {
  readonly #names: string[]
  readonly #delimiter: string
  readonly #zone: string
  #open: Line | undefined
  #openLines = 0

  private constructor(names: string[], delimiter: string, zone: string) {
    this.#names = names
    this.#delimiter = delimiter
    this.#zone = zone
  }

  /** From the head line. Throws a StartError where it names no columns that are known. */
  static of({ number, text }: Line, file: string, zone: string): CsvReader {
    const delimiter = delimiterOf(text)
    const names = (csvFields(text, delimiter) ?? []).map(name => name.trim().toLowerCase())
    if (names.includes('time') && names.includes('channelkey')) return new CsvReader(names, delimiter, zone)
    throw new StartError(
      `${file}, line ${number}: neither an event in JSON nor a head line that names at least time and channelkey`,
    )
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  *take(line: Line): Generator<Record_> {
    const { number, text } =
      this.#open === undefined ? line : { ...this.#open, text: `${this.#open.text}\n${line.text}` }
    this.#openLines++
    if (isOpen(text) && this.#openLines < maxRecordLines) {
      this.#open = { number, text }
      return
    }
    this.#open = undefined
    this.#openLines = 0
    yield { number, read: this.#read(text) }
  }

  *end(): Generator<Record_> {
    if (this.#open !== undefined) yield { number: this.#open.number, read: 'a quote is not closed' }
  }

  #read(text: string): Record_['read'] {
    const values = csvFields(text, this.#delimiter)
    if (values === null) return 'a quote stands where none may, or is not closed'
    if (values.length !== this.#names.length)
      return `it has ${values.length} fields, the head line has ${this.#names.length}`
    const fields: Array<[string, string]> = values.map((value, index) => [this.#names[index] ?? '', value])
    return readPlay(new Map(fields.filter(([name]) => known.has(name))) satisfies PlayFields, this.#zone)
  }
}
