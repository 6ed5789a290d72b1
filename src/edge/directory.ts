// Whether a key is known: asked of what is seen here of the log, and only for the rest of the registry there (rule 20).
import { Problem } from '../api/errors.ts'
import { isKey, isMetaid } from '../domain/keys.ts'
import type { Channel, Station } from '../domain/registry.ts'
import { LogUnavailable } from '../log/connection.ts'
import type { Registry, RegistryEntry } from '../log/registry.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { ChannelStates } from './channel-state.ts'
import type { Scope } from './route.ts'

type Entries = { channel: RegistryEntry<Channel>; station: RegistryEntry<Station> }

/** Look-ups in the log at once; past it, unknown keys get 503. */
export const maxLookups = 256

export class Directory {
  readonly #registry: Registry
  readonly #states: ChannelStates
  readonly #metrics: Metrics
  #lookups = 0

  constructor(registry: Registry, states: ChannelStates, metrics: Metrics) {
    this.#registry = registry
    this.#states = states
    this.#metrics = metrics
  }

  /**
   * Calls back if the key is known, at once or after one look-up; a metaid always is: it is the player's own.
   * Returns what the callback returns.
   * Throws or rejects with a Problem: 404 where it is not known, 503 where that cannot be said.
   */
  whenKnown(scope: Scope, key: string, callback: () => Promise<void> | void): Promise<void> | void {
    if (scope === 'listener') {
      if (!isMetaid(key)) throw new Problem('not-found', 'This can be no metaid.')
      return callback()
    }
    if (this.#isSeen(scope, key)) return callback()
    if (!isKey(key)) throw unknown(scope)
    return this.#lookUp(scope, key).then(() => callback())
  }

  /**
   * The channel or station of this key, looked up where it is not seen here. Rejects with a Problem as whenKnown does.
   */
  async find<S extends 'channel' | 'station'>(scope: S, key: string): Promise<Entries[S]> {
    const seen = scope === 'channel' ? this.#registry.channel(key) : this.#registry.station(key)
    if (seen === undefined && !isKey(key)) throw unknown(scope)
    return (seen ?? (await this.#lookUp(scope, key))) as Entries[S]
  }

  /**
   * A channel that is shown is known: where it is removed, its state goes too. A station may be gone that a record still
   * names; it counts as known only while the registry is being read, for not all who come back at once may have to ask.
   */
  #isSeen(scope: 'channel' | 'station', key: string): boolean {
    const states = this.#states
    const registry = this.#registry
    if (scope === 'channel') return states.channel(key) !== undefined || registry.channel(key) !== undefined
    return registry.station(key) !== undefined || (!registry.isWhole && states.station(key) !== undefined)
  }

  async #lookUp(scope: 'channel' | 'station', key: string): Promise<Entries['channel' | 'station']> {
    if (this.#lookups >= maxLookups) {
      this.#metrics.edgeRejected.inc({ limit: 'lookups' })
      throw new Problem('busy', undefined, { retryAfter: 1 })
    }
    this.#lookups++
    try {
      const registry = this.#registry
      const found = await (scope === 'channel' ? registry.findChannel(key) : registry.findStation(key))
      if (found === undefined) throw unknown(scope)
      return found
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error
      throw new Problem('unavailable', `Whether this ${scope} exists cannot be found out now.`, {
        retryAfter: 1,
      })
    } finally {
      this.#lookups--
    }
  }
}

function unknown(scope: 'channel' | 'station'): Problem {
  return new Problem(scope === 'channel' ? 'unknown-channel' : 'unknown-station')
}
