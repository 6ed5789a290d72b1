// The forms of the keys that appear in paths.
import { randomBytes } from 'node:crypto'

const key = /^[A-Za-z0-9_-]{1,64}$/
const metaid = /^(?!\.+$)[A-Za-z0-9._~-]{1,128}$/
const broughtToken = /^[A-Za-z0-9._~!$&'()*+,;=:@-]{16,128}$/

/** Whether this can be a channelkey or a stationkey. They are case-sensitive. */
export function isKey(text: string): boolean {
  return key.test(text)
}

/** Whether this can be a metaid, chosen by a player (spec 4.5). */
export function isMetaid(text: string): boolean {
  return metaid.test(text)
}

/** Whether an operator may bring this as a push token: 16 to 128 characters that need no escape in a path. */
export function isToken(text: string): boolean {
  return broughtToken.test(text)
}

/**
 * A new token: 32 URL-safe characters, over 191 random bits. It begins with a letter or a digit, since a command line
 * takes what begins with '-' for a flag.
 */
export function generateToken(): string {
  for (;;) {
    const token = randomBytes(24).toString('base64url')
    if (/^[A-Za-z0-9]/.test(token)) return token
  }
}
