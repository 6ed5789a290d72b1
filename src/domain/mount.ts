// An Icecast mount that shows a channel's title in its stream (rule 31).
import iconv from 'iconv-lite'
import { isCharset } from './encoding.ts'

export type Mount = {
  /** Where Icecast is: http or https, without credentials, query and hash. */
  url: string
  /** The mount's path, with its slash. */
  mount: string
  user: string
  password: string
  /** `UTF-8`, the name of another charset, or `none`: UTF-8 too, but the request does not say so. */
  charset: string
}

/** How a mount fares; kept where the console can read it. Times are RFC 3339 in UTC. */
export type MountState = {
  url: string
  mount: string
  /** The last title that Icecast took; null: none yet. */
  title: string | null
  sentAt: string | null
  /** Why the title is not in the stream now; null: it is. */
  error: string | null
  errorSince: string | null
}

export const defaultCharset = 'UTF-8'

/** For a mount whose charset can't be configured: Icecast then passes the bytes on as they are. */
export const noCharset = 'none'

export const maxMountsPerChannel = 32

/** Lengths in characters. Together they leave well over half of a request head to the title. */
export const maxMountTextLength = 128

/** Whether titles can be sent in this charset: a known one that holds ASCII as it is. */
export function isTitleCharset(name: string): boolean {
  if (name === noCharset) return true
  return /^[A-Za-z0-9._:-]{1,40}$/.test(name) && isCharset(name) && holdsAscii(name)
}

const ascii = "Ab0 ';&+-~"

/** Not UTF-16, whose NUL bytes would end the title. */
function holdsAscii(name: string): boolean {
  return iconv.encode(ascii, name).equals(Buffer.from(ascii))
}

/** Whether Icecast can be there. */
export function isMountUrl(text: string): boolean {
  if (!/^https?:\/\/[^\s\p{C}/?#@]+(\/[^\s\p{C}?#]*)?$/iu.test(text) || !URL.canParse(text)) return false
  const { hostname, username, password } = new URL(text)
  return hostname !== '' && username === '' && password === ''
}

/** Whether this can be a mount: a path without a query, in printable ASCII (as Icecast compares it byte by byte). */
export function isMountPath(text: string): boolean {
  return /^\/[!-"$->@-~]+$/.test(text)
}

/** Two mounts of one address are one mount. */
export function mountId({ url, mount }: Pick<Mount, 'url' | 'mount'>): string {
  return `${url} ${mount}`
}
