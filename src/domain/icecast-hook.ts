// Icecast's URL-auth hooks (rule 28): a form that says that a listener came or went. Of it only action, mount and
// client are read.
import { readBytes } from './encoding.ts'
import { isMetaid } from './keys.ts'
import { parseQuery, type QueryParameters } from './query.ts'
import { cleanText, cutText } from './text.ts'

export type Hook = {
  action: 'add' | 'remove'
  metaid: string
  /** Icecast's number of the listener; null where it names none. */
  client: string | null
  /** Without its query. */
  mount: string
}

/** The hook of a form body, or null where it concerns no listener with a metaid. */
export function readHook(body: Uint8Array): Hook | null {
  const form = parseQuery(Buffer.from(body).toString('latin1'))
  if (form === null) return null
  const action = actions.get(form.get('action')?.toString('latin1') ?? '')
  const target = form.get('mount') ?? Buffer.alloc(0)
  const queryAt = target.indexOf('?')
  if (action === undefined || queryAt < 0) return null
  const metaid = metaidOf(parseQuery(target.toString('latin1', queryAt + 1)))
  if (metaid === null) return null
  const client = form.get('client')
  return {
    action,
    metaid,
    client: client === undefined ? null : textOf(client),
    mount: textOf(target.subarray(0, queryAt)),
  }
}

const actions = new Map<string, Hook['action']>([
  ['listener_add', 'add'],
  ['listener_remove', 'remove'],
])

/** The metaid with which the stream was started; `sabcsid` is the parameter's old name. */
function metaidOf(query: QueryParameters | null): string | null {
  const metaid = (query?.get('metaid') ?? query?.get('sabcsid'))?.toString('latin1') ?? ''
  return isMetaid(metaid) ? metaid : null
}

function textOf(bytes: Buffer): string {
  return cutText(cleanText(readBytes(bytes, 'utf8').text))
}
