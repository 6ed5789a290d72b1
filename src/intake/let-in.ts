// Icecast lets a listener in on one header of a hook's answer, whatever else that says (rule 28): metadata must not
// stop audio. So it stands on every answer that a hook may get, also where its request could not even be read.

export const letInHeader = ['icecast-auth-user', '1'] as const

const hookTarget = /^(?:https?:\/\/[^/?#]*)?\/icecast(?:\/|$)/i

/** Whether a request target, as sent, is that of a hook. */
export function isHookTarget(target = ''): boolean {
  return hookTarget.test(target)
}
