// The pure way of a push from bytes to a normalised element: by GET (spec 4.1), as a form, or as JSON (spec 4.2).
import { readDurationText, readDurationValue } from './duration.ts'
import { type Encoding, findEncoding, readBytes } from './encoding.ts'
import { readImages } from './images.ts'
import { compact, members } from './json.ts'
import { type Decoded, type DecodeFacts, type Findings, normalise, type PushFields } from './normalise.ts'
import type { QueryParameters } from './query.ts'
import { cleanText, quote } from './text.ts'

/**
 * A JSON body (spec 2.1) whose mandatory fields were found present; the others may hold anything and are judged here.
 * Fields that are not named here are ignored.
 */
export type PushBody = {
  song: string | null
  artist: string | null
  duration: number | string | null
  id?: unknown
  time?: unknown
  cover?: unknown
  images?: unknown
  album?: unknown
  separator?: unknown
  timezone?: unknown
  etype?: unknown
  tracktype?: unknown
  isrc?: unknown
  extdata?: unknown
  externalid?: unknown
}

/** A push by GET, or the body of a form, whose parameters are read (rule 4). `encoding` governs song and artist only. */
export function decodeParameters(parameters: QueryParameters, facts: DecodeFacts): Decoded {
  const findings: Findings = { warnings: [], errors: [] }
  const text = (name: string, encoding?: Encoding) => readParameter(parameters, name, findings, encoding)
  const encoding = readEncoding(text('encoding'), findings)
  const duration = readDurationText(cleanText(text('duration')))
  if (duration === null) refuseDuration(findings)
  const externalid = cleanText(text('externalid')).trim()
  const fields: PushFields = {
    id: text('id'),
    song: text('song', encoding),
    artist: text('artist', encoding),
    album: text('album'),
    cover: text('cover'),
    separator: text('separator'),
    isrc: text('isrc'),
    etype: text('etype'),
    tracktype: text('tracktype'),
    time: text('time'),
    timezone: text('timezone'),
    duration: duration ?? 0,
    images: null,
    extdata: null,
    externalid: externalid === '' ? null : JSON.stringify(externalid),
  }
  return normalise(fields, facts, findings)
}

/**
 * A push by POST.
 *
 * @param sourceText the JSON that `body` was parsed from: `extdata` and `externalid` are taken from it as they stand.
 */
export function decodeObject(body: PushBody, sourceText: string, facts: DecodeFacts): Decoded {
  const findings: Findings = { warnings: [], errors: [] }
  const text = (name: keyof PushBody) => textOf(name, body[name], sourceText, findings)
  const duration = readDurationValue(body.duration)
  if (duration === null) refuseDuration(findings)
  const { images, dropped } = readImages(body.images)
  for (const part of dropped) findings.warnings.push(`${part}: no http or https address, dropped`)
  const fields: PushFields = {
    id: text('id'),
    song: text('song'),
    artist: text('artist'),
    album: text('album'),
    cover: text('cover'),
    separator: text('separator'),
    isrc: text('isrc'),
    etype: text('etype'),
    tracktype: text('tracktype'),
    time: text('time'),
    timezone: text('timezone'),
    duration: duration ?? 0,
    images,
    extdata: sourceOf('extdata', body.extdata, sourceText, findings),
    externalid: sourceOf('externalid', body.externalid, sourceText, findings),
  }
  return normalise(fields, facts, findings)
}

function readParameter(
  parameters: QueryParameters,
  name: string,
  findings: Findings,
  encoding: Encoding = 'utf8',
): string {
  const bytes = parameters.get(name)
  if (bytes === undefined) return ''
  const { text, guessed } = readBytes(bytes, encoding)
  if (guessed) findings.warnings.push(`${name}: not valid UTF-8, read as windows-1252`)
  return text
}

function readEncoding(name: string, findings: Findings): Encoding {
  const encoding = findEncoding(cleanText(name))
  if (encoding === null) findings.warnings.push(`encoding: ${quote(name)} is not known, utf8 was used`)
  return encoding ?? 'utf8'
}

// Libraries number their items and clocks count seconds, so these may come as JSON numbers.
const mayBeNumbers = new Set<keyof PushBody>(['id', 'etype', 'time'])

/** The text of a JSON value: null and absent are empty; a number that would lose digits stands as it was written. */
function textOf(name: keyof PushBody, value: unknown, sourceText: string, findings: Findings): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'number' && mayBeNumbers.has(name)) {
    return Number.isSafeInteger(value) ? String(value) : (members(sourceText).get(name) ?? '')
  }
  findings.errors.push({ field: name, message: 'must be a string' })
  return ''
}

/** The compact source of an object (or, for `externalid`, a string); null where there is none. */
function sourceOf(
  name: 'extdata' | 'externalid',
  value: unknown,
  sourceText: string,
  findings: Findings,
): string | null {
  const takesText = name === 'externalid'
  if (value === undefined || value === null || (takesText && value === '')) return null
  if ((typeof value === 'object' && !Array.isArray(value)) || (takesText && typeof value === 'string')) {
    return compact(members(sourceText).get(name) ?? 'null')
  }
  findings.errors.push({
    field: name,
    message: takesText ? 'must be an object or a string' : 'must be an object',
  })
  return null
}

function refuseDuration(findings: Findings): void {
  findings.errors.push({ field: 'duration', message: 'must be seconds, 0 to 2147483647' })
}
