// From the fields of a push, however it came, to a normalised element (rules 5 to 9).

import { readEtype } from './etype.ts'
import type { Element, ElementField, Images, Tracktype } from './event.ts'
import { isWebAddress, maxAddressCharacters } from './images.ts'
import { cleanText, cutText, maxTextCharacters, quote } from './text.ts'
import { readTime } from './time.ts'
import { readTracktype } from './tracktype.ts'

/** `extdata` and `externalid` together, as UTF-8: so that a value with two records and held pushes can be stored. */
export const maxExternalBytes = 65_536

/** The longest id. UTF-8 bytes. */
export const maxIdBytes = 255

export const defaultSeparator = ' - '

/** A field at fault, as the problem body of a 400 names it. */
export type FieldError = { field: string; message: string }

/** What is found on the way: what was repaired or ignored, in words, and what cannot be accepted. */
export type Findings = { warnings: string[]; errors: FieldError[] }

/** What the intake knows when a push comes in. */
export type DecodeFacts = {
  /** The intake's clock at receipt, unix milliseconds. */
  arrivalMs: number
  /** IANA name of the channel's zone. */
  zone: string
}

/** A push as understood, or every field at fault. */
export type Decoded =
  | {
      ok: true
      /** `id` is empty when none was given: the caller generates one. */
      element: Element
      given: ElementField[]
      tracktype: Tracktype
      /** Unix milliseconds; null where the push gave no time of its own. */
      time: { explicitMs: number | null }
      warnings: string[]
    }
  | { ok: false; errors: FieldError[] }

/** The fields of a push, empty where nothing was given. Texts are valid Unicode, but not clean yet. */
export type PushFields = {
  id: string
  song: string
  artist: string
  album: string
  cover: string
  separator: string
  isrc: string
  etype: string
  tracktype: string
  time: string
  timezone: string
  /** Seconds. */
  duration: number
  images: Images | null
  extdata: string | null
  externalid: string | null
}

/** The element of these fields; adds to the findings that were made so far. */
export function normalise(fields: PushFields, facts: DecodeFacts, findings: Findings): Decoded {
  const { warnings, errors } = findings
  const tracktype = readTracktype(cleanText(fields.tracktype))
  if (tracktype === null) errors.push({ field: 'tracktype', message: 'must be now or next' })
  const etype = readEtype(cleanText(fields.etype))
  if (etype === null)
    errors.push({ field: 'etype', message: 'must be an integer or a name of a content type' })
  const { arrivalMs, zone } = facts
  const time = readTime(fields.time, { arrivalMs, zone, pushedZone: fields.timezone })
  if (time.ok) warnings.push(...time.warnings)
  else errors.push({ field: 'time', message: time.message })
  const element: Element = {
    id: readId(fields.id, errors),
    song: readText('song', fields.song, warnings).trim(),
    artist: readText('artist', fields.artist, warnings).trim(),
    album: readText('album', fields.album, warnings).trim(),
    cover: readCover(fields.cover, warnings),
    images: fields.images,
    separator: readText('separator', fields.separator, warnings, false) || defaultSeparator,
    isrc: readText('isrc', fields.isrc, warnings).trim(),
    duration: fields.duration,
    etype: etype ?? 0,
    extdata: fields.extdata,
    externalid: fields.externalid,
  }
  if (externalBytes(element) > maxExternalBytes)
    errors.push({
      field: 'extdata',
      message: `must be at most ${maxExternalBytes} bytes, externalid included`,
    })
  if (errors.length > 0 || tracktype === null || !time.ok) return { ok: false, errors }
  const given = fieldsGiven(element, fields)
  return { ok: true, element, given, tracktype, time: { explicitMs: time.explicitMs }, warnings }
}

/** The free-form data of an element as it is stored: a body of a one-byte charset grows to three times its size. */
function externalBytes({ extdata, externalid }: Element): number {
  return Buffer.byteLength(extdata ?? '') + Buffer.byteLength(externalid ?? '')
}

/** A clean text of at most `maxTextCharacters`, without the blanks around it unless they are to be kept. */
function readText(field: string, pushed: string, warnings: string[], trims = true): string {
  const clean = trims ? cleanText(pushed).trim() : cleanText(pushed)
  const kept = cutText(clean)
  if (kept !== clean) warnings.push(`${field}: cut to ${maxTextCharacters} characters`)
  return kept
}

function readId(pushed: string, errors: FieldError[]): string {
  const id = cleanText(pushed).trim()
  if (Buffer.byteLength(id) > maxIdBytes) {
    errors.push({ field: 'id', message: `must be at most ${maxIdBytes} bytes` })
  }
  return id
}

function readCover(pushed: string, warnings: string[]): string {
  const cover = cleanText(pushed).trim()
  if (cover === '' || isWebAddress(cover)) return cover
  warnings.push(
    `cover: ${quote(cover)} is no http or https address of up to ${maxAddressCharacters} characters, dropped`,
  )
  return ''
}

/** The fields that the push brought with a value: an empty text, a null, `{}` and a duration of 0 give nothing. */
function fieldsGiven(element: Element, fields: PushFields): ElementField[] {
  const values: Record<ElementField, unknown> = {
    ...element,
    separator: cleanText(fields.separator),
    etype: cleanText(fields.etype).trim(),
  }
  const names = Object.keys(values) as ElementField[]
  return names.filter(name => !nothing.has(values[name]))
}

const nothing = new Set<unknown>(['', null, '{}', 0])
