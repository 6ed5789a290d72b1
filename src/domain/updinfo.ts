// Pushes of encoders that only speak Icecast or SHOUTcast (rule 30): one title, or artist and title.
import { decodeParameters } from './decode.ts'
import { readCharset } from './encoding.ts'
import type { Decoded, DecodeFacts } from './normalise.ts'
import type { QueryParameters } from './query.ts'
import { quote } from './text.ts'

const joint = ' - '

/** Artist and song of a joined title, split at the first " - " only; without one it is all song. Split before trimming. */
export function splitTitle(title: string): { artist: string; song: string } {
  const at = title.indexOf(joint)
  if (at < 0) return { artist: '', song: title }
  return { artist: title.slice(0, at), song: title.slice(at + joint.length) }
}

/**
 * The push that an `updinfo` query makes: `song` is split, unless an `artist` or `title` beside it says which is which.
 * Its bytes are in `charset`; without one in UTF-8 if they are valid, else windows-1252. The duration is 0, all else
 * is as in a push by GET.
 */
export function decodeUpdinfo(parameters: QueryParameters, facts: DecodeFacts): Decoded {
  const charset = parameters.get('charset')?.toString('latin1') ?? ''
  const warnings = new Set<string>()
  const text = (name: string): string => {
    const read = readCharset(parameters.get(name) ?? Buffer.alloc(0), charset)
    if (read.unknown) warnings.add(`charset: ${quote(charset)} is not known`)
    if (read.guessed) warnings.add(`${name}: not valid UTF-8, read as windows-1252`)
    return read.text
  }
  const artist = text('artist')
  const title = text('title')
  const song = text('song')
  const track = artist === '' && title === '' ? splitTitle(song) : { artist, song: title || song }
  const rest = new Map(parameters)
  for (const name of ['encoding', 'duration']) rest.delete(name)
  rest.set('song', Buffer.from(track.song))
  rest.set('artist', Buffer.from(track.artist))
  const decoded = decodeParameters(rest, facts)
  return decoded.ok ? { ...decoded, warnings: [...warnings, ...decoded.warnings] } : decoded
}
