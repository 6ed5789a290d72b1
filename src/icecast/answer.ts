// What Icecast's answers mean. It says 200 to nearly everything, so the words decide.

/** Why a title is not in the stream, for the operator: one line, without anything that was sent. */
export class MountError extends Error {
  override name = 'MountError'
}

export type IcecastAnswer = { status: number; body: string }

/** What came of an update. */
export type Outcome =
  | 'taken'
  /** The request came from another address than the source's, or the format has no titles. */
  | 'not accepted'

/** Throws a MountError for every answer that is neither. */
export function readUpdate(answer: IcecastAnswer): Outcome {
  requireAdmitted(answer)
  if (answer.status === 200) {
    if (answer.body.includes('Metadata update successful')) return 'taken'
    if (/will not accept .{0,8}URL update/.test(answer.body)) return 'not accepted'
  }
  throw new MountError(`the server answers ${answer.status}, not as Icecast does`)
}

/**
 * When the mount's source connected, as the server writes it; undefined where this server or proxy does not tell.
 * Throws a MountError where there is no source, or the credentials are refused.
 */
export function readSourceStart(answer: IcecastAnswer, mount: string): string | undefined {
  requireAdmitted(answer)
  if (answer.status !== 200) return undefined
  // Icecast gives this mount's source alone, icecast-kh all of them.
  for (const [, name = '', facts = ''] of answer.body.matchAll(
    /<source mount="([^"]*)">([\s\S]*?)<\/source>/g,
  )) {
    if (decodeEntities(name) !== mount) continue
    return /<stream_start(?:_iso8601)?>([^<]{1,64})</.exec(facts)?.[1]
  }
  return undefined
}

function requireAdmitted({ status, body }: IcecastAnswer): void {
  if (status === 401 || status === 403) throw new MountError(`user or password is refused (${status})`)
  if (status >= 300 && status < 400)
    throw new MountError(`the server redirects (${status}); give its own url`)
  if (/Source (does not exist|is not available)/i.test(body)) {
    throw new MountError('no source is connected to the mount')
  }
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? '')
}
