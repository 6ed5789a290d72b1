// Icecast lets a listener in on one header of a hook's answer, whatever else that says (rule 28): metadata must not
// stop audio. So it stands on every answer that a hook may get, also where its request could not even be read.

import type { Duplex } from 'node:stream'
import type { Problem } from '../api/errors.ts'
import { refuse } from '../http/raw-answer.ts'

export const letInHeader = ['icecast-auth-user', '1'] as const

// The routes are found by the decoded path, so an escaped letter is the same letter here.
const letters = [...'icecast'].map(letter => `(?:${letter}|%${letter.charCodeAt(0).toString(16)})`)
const hookTarget = new RegExp(`^(?:https?://[^/?#]*)?/?${letters.join('')}(?:/|$)`, 'i')

/** Whether a request target, as sent, is that of a hook. */
export function isHookTarget(target = ''): boolean {
  return hookTarget.test(target)
}

/** Refuses what never became a request, and closes its connection; it may have been a hook. */
export function refuseUnread(socket: Duplex, problem: Problem): void {
  refuse(socket, problem, { [letInHeader[0]]: letInHeader[1] })
}
