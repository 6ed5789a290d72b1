// Titles of encoders that know one text only (rule 30).

/** Artist and song of a joined title, split at the first " - " only; without one it is all song. Split before trimming. */
export function splitTitle(title: string): { artist: string; song: string } {
  const at = title.indexOf(joint)
  if (at < 0) return { artist: '', song: title }
  return { artist: title.slice(0, at), song: title.slice(at + joint.length) }
}

const joint = ' - '
