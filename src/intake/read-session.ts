// What a stream server says of a session, from HTTP to the domain (rule 28).
import { type FieldError, Problem } from '../api/errors.ts'
import type { SessionBody } from '../api/listener.ts'
import { decodeJsonBody } from '../domain/body.ts'
import { readBytes } from '../domain/encoding.ts'
import { isMetaid } from '../domain/keys.ts'
import type { Session } from '../domain/listener.ts'
import { cleanText, maxTextCharacters } from '../domain/text.ts'
import { readContentType } from './content-type.ts'
import { readQuery } from './read-push.ts'

type Field = keyof typeof SessionBody.properties

/** The session of a PUT; its body may be missing. Throws 400, 415. */
export function readSession(channelkey: string, body: Buffer, contentType: string | undefined): Session {
  const value = body.length === 0 ? {} : readObject(body, contentType)
  const errors: FieldError[] = []
  const text = (field: Field) => readText(field, value[field], errors)
  const client = text('client')
  const session: Session = {
    channelkey,
    client,
    session: text('session') || client,
    mount: pathOf(text('mount')),
  }
  if (errors.length > 0) throw new Problem('invalid', undefined, { errors })
  return session
}

/** Whose session a DELETE ends; null: whoever's. Throws 400. */
export function readClient(target: string): string | null {
  const client = readQuery(target).get('client')
  return client === undefined ? null : cleanText(readBytes(client).text)
}

/** Throws 400 where this can be no metaid. */
export function requireMetaid(metaid: string): void {
  if (isMetaid(metaid)) return
  throw new Problem('invalid', undefined, { errors: [metaidError] })
}

export const metaidError: FieldError = {
  field: 'metaid',
  message: 'must be 1 to 128 letters, digits, dots, hyphens, underscores or tildes, and not dots alone',
}

function readObject(body: Buffer, contentType: string | undefined): Record<string, unknown> {
  const type = readContentType(contentType)
  if (type.kind !== 'json') throw new Problem('unsupported-media-type', 'A session is JSON.')
  const json = decodeJsonBody(body, type.charset)
  if (!json.ok) throw new Problem('malformed', json.message)
  return json.value
}

function readText(field: Field, value: unknown, errors: FieldError[]): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string' && typeof value !== 'number') {
    errors.push({ field, message: 'must be a string' })
    return ''
  }
  const text = cleanText(String(value))
  if (text.length > maxTextCharacters) {
    errors.push({ field, message: `must be at most ${maxTextCharacters} characters` })
  }
  return text
}

function pathOf(mount: string): string {
  return mount.split('?', 1)[0] ?? ''
}
