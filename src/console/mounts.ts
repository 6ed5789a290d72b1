// The Icecast mounts of a channel, as the console's API takes and shows them (rule 31).
import type { ChannelBody, MountAnswer } from '../api/console.ts'
import { Problem } from '../api/errors.ts'
import { defaultCharset, type Mount, type MountState, mountId } from '../domain/mount.ts'

/**
 * The mounts to store. A password left out is that of the old mount at the same place. Throws the problem for 400
 * where there is none, and where a mount is named twice.
 */
export function mountsOf(body: ChannelBody['mounts'], before: readonly Mount[]): Mount[] {
  const passwords = new Map(before.map(mount => [mountId(mount), mount.password]))
  const seen = new Set<string>()
  return (body ?? []).map(({ url: given, mount, user, password, charset }, index) => {
    const url = given.replace(/\/+$/, '')
    const id = mountId({ url, mount })
    if (seen.has(id)) throw invalid(`mounts.${index}`, 'is named twice')
    seen.add(id)
    const known = password ?? passwords.get(id)
    if (known === undefined) throw invalid(`mounts.${index}.password`, 'is missing, and the mount is new')
    return { url, mount, user, password: known, charset: charset ?? defaultCharset }
  })
}

/** What an operator sees of them: never the password. */
export function mountAnswers(mounts: readonly Mount[], states: readonly MountState[]): MountAnswer[] {
  const byId = new Map(states.map(state => [mountId(state), state]))
  return mounts.map(mount => {
    const { url, mount: path, user, charset } = mount
    const { title = null, sentAt = null, error = null, errorSince = null } = byId.get(mountId(mount)) ?? {}
    return { url, mount: path, user, charset, state: { title, sentAt, error, errorSince } }
  })
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid', undefined, { errors: [{ field, message }] })
}
