// The old subscription paths (rule 32), which are the paths of plain requests too.
import type { Scope } from '../edge/route.ts'

/** What a path names. */
export type Target = { path: string; scope: Scope; key: string }

const scopes: Record<string, Scope> = { metadata: 'listener', metachannel: 'channel', metastation: 'station' }
const names: Record<Scope, string> = { listener: 'metadata', channel: 'metachannel', station: 'metastation' }
const form = /^\/(metadata|metachannel|metastation)\/([^/]+)$/

/** undefined: no such path. Whether the key can be one is not asked here. */
export function targetOf(path: string): Target | undefined {
  const [, name = '', key] = form.exec(path) ?? []
  const scope = scopes[name]
  return key === undefined || scope === undefined ? undefined : { path, scope, key }
}

/** The inverse of targetOf. */
export function pathOf(scope: Scope, key: string): string {
  return `/${names[scope]}/${key}`
}
