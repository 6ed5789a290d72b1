// What a push body says it is (rule 9).
import { Problem } from '../api/errors.ts'

export type BodyType = { kind: 'json' | 'form'; charset: string | undefined }

const kinds = new Map<string, BodyType['kind']>([
  ['', 'json'],
  ['application/json', 'json'],
  ['text/plain', 'json'],
  ['application/x-www-form-urlencoded', 'form'],
])

/** The kind and charset of a Content-Type header; a missing one is JSON. Throws 415. */
export function readContentType(header = ''): BodyType {
  const [type = '', ...parameters] = header.split(';').map(part => part.trim())
  const kind = kinds.get(type.toLowerCase())
  if (kind === undefined) throw new Problem('unsupported-media-type')
  const charset = parameters.map(part => /^charset\s*=\s*"?(?<name>[^"]*)"?$/i.exec(part)?.groups?.['name'])
  return { kind, charset: charset.find(name => name !== undefined) }
}
