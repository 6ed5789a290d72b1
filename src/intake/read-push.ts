// From what HTTP brought to the decoder of the domain, for each form of a push (spec 4.1, 4.2, rules 4 and 9).
import { Compile } from 'typebox/compile'
import { type FieldError, Problem } from '../api/errors.ts'
import { PushBody } from '../api/push.ts'
import { decodeJsonBody } from '../domain/body.ts'
import { decodeObject, decodeParameters } from '../domain/decode.ts'
import { findEncoding } from '../domain/encoding.ts'
import { isMetaid } from '../domain/keys.ts'
import type { Decoded, DecodeFacts } from '../domain/normalise.ts'
import { maxQueryParameters, parseQuery, type QueryParameters } from '../domain/query.ts'
import type { BodyType } from './content-type.ts'
import type { DecodedPush } from './push.ts'
import { metaidError } from './read-session.ts'

type Refused = Extract<Decoded, { ok: false }>

const mandatory = ['song', 'artist', 'duration'] as const

const shape = Compile(PushBody)

/** The query of a request target, without the `?`: everything after the first one, a raw '#' too (rule 4). */
export function rawQueryOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? '' : target.slice(at + 1)
}

/** The parameters of a push's request target. Throws 400. */
export function readQuery(target: string): QueryParameters {
  return requireParameters(rawQueryOf(target))
}

/** A push whose parameters are read already. */
export function readParameters(parameters: QueryParameters, facts: DecodeFacts): DecodedPush {
  return forListener(parameters, decodeParameters(parameters, facts))
}

/** A push by POST. `target` may name a listener only. Throws 400. */
export function readPost(target: string, body: Buffer, type: BodyType, facts: DecodeFacts): DecodedPush {
  const query = readQuery(target)
  const read = type.kind === 'form' ? readForm : readJson
  return forListener(query, read(body, type.charset, facts))
}

/** A query that names a metaid makes it a push for that listener alone (rule 18). */
function forListener(query: QueryParameters, decoded: Decoded): DecodedPush {
  const metaid = query.get('metaid')?.toString('latin1')
  if (metaid === undefined) return decoded
  const errors: FieldError[] = isMetaid(metaid) ? [] : [metaidError]
  if (!decoded.ok) return withFaults(errors, decoded)
  if (decoded.tracktype === 'next')
    errors.push({ field: 'tracktype', message: 'must be now for one listener' })
  return withFaults(errors, { ...decoded, metaid })
}

function readForm(body: Buffer, charset: string | undefined, facts: DecodeFacts): Decoded {
  const parameters = requireParameters(body.toString('latin1'))
  refuseListener(parameters)
  const missing = mandatory.filter(name => !parameters.has(name)).map(missingField)
  if (!parameters.has('encoding') && charset !== undefined && findEncoding(charset) !== null) {
    parameters.set('encoding', Buffer.from(charset))
  }
  return withFaults(missing, decodeParameters(parameters, facts))
}

function readJson(body: Buffer, charset: string | undefined, facts: DecodeFacts): Decoded {
  const json = decodeJsonBody(body, charset)
  if (!json.ok) throw new Problem('malformed', json.message)
  const { value, text, warnings } = json
  if (!shape.Check(value)) {
    // What is wrong with the other fields is said in the same answer.
    const faults = mandatory.flatMap(name => faultOf(name, value))
    const rest = { ...value, ...Object.fromEntries(faults.map(({ field }) => [field, null])) }
    return withFaults(faults, decodeObject(rest as PushBody, text, facts))
  }
  const decoded = decodeObject(value, text, facts)
  return decoded.ok ? { ...decoded, warnings: [...warnings, ...decoded.warnings] } : decoded
}

/** A push with further fields at fault. */
function withFaults<T extends Decoded>(faults: FieldError[], decoded: T): T | Refused {
  if (faults.length === 0) return decoded
  return { ok: false, errors: [...faults, ...(decoded.ok ? [] : decoded.errors)] }
}

/** Why a mandatory field does not have the shape. */
function faultOf(name: (typeof mandatory)[number], body: Record<string, unknown>): FieldError[] {
  if (body[name] === undefined) return [missingField(name)]
  if (fieldShapes[name].Check(body[name])) return []
  return [{ field: name, message: name === 'duration' ? 'must be a number of seconds' : 'must be a string' }]
}

const fieldShapes = {
  song: Compile(PushBody.properties.song),
  artist: Compile(PushBody.properties.artist),
  duration: Compile(PushBody.properties.duration),
}

function missingField(field: string): FieldError {
  return { field, message: 'is missing' }
}

function requireParameters(raw: string): QueryParameters {
  const parameters = parseQuery(raw)
  if (parameters !== null) return parameters
  const message = `has more than ${maxQueryParameters} parameters`
  throw new Problem('invalid', undefined, { errors: [{ field: 'query', message }] })
}

/** A title for one listener must not be shown to everybody (rule 18): better refused than ignored. */
export function refuseListener(parameters: QueryParameters): void {
  if (!parameters.has('metaid')) return
  const message = 'must stand in the query of a push path'
  throw new Problem('invalid', undefined, { errors: [{ field: 'metaid', message }] })
}
