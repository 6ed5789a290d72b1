// The bucket `token`: push tokens as SHA-256, watched by the intake and the console. Key `<channelkey>.<id>`,
// where id is the beginning of the hash: so one token is one look-up.
import type { LogConnection } from './connection.ts'

export type TokenInfo = { id: string; label: string; createdAt: string }

export class Tokens {
  constructor(_connection: LogConnection) {}
  start(): Promise<void> {
    throw new Error('not built')
  }
  stop(): Promise<void> {
    throw new Error('not built')
  }
  /** Whether the token is one of this channel's; compared in constant time; one not yet seen is looked up once. Throws LogUnavailable. */
  matches(_channelkey: string, _token: string): Promise<boolean> {
    throw new Error('not built')
  }
  add(_channelkey: string, _token: string, _label: string): Promise<TokenInfo> {
    throw new Error('not built')
  }
  list(_channelkey: string): Promise<TokenInfo[]> {
    throw new Error('not built')
  }
  revoke(_channelkey: string, _id: string): Promise<boolean> {
    throw new Error('not built')
  }
  revokeAll(_channelkey: string): Promise<void> {
    throw new Error('not built')
  }
}
