// A connection for reads alone, opened once it is needed: a nats-server answers one direct read after the other, so
// what else the process asks of the log must not wait behind them.
import { type LogConnection, LogUnavailable, messageOf } from './connection.ts'

export class OwnConnection {
  readonly #connection: LogConnection
  readonly #purpose: string
  #own: Promise<LogConnection> | undefined
  #isClosed = false

  /** purpose: as in LogConnection.another. */
  constructor(connection: LogConnection, purpose: string) {
    this.#connection = connection
    this.#purpose = purpose
  }

  /** The same for all. Throws LogUnavailable. */
  async get(): Promise<LogConnection> {
    if (this.#isClosed) throw new LogUnavailable('the connection to the log is closed')
    this.#own ??= this.#connection.another(this.#purpose)
    const own = this.#own
    try {
      return await own
    } catch (error) {
      // Several may have waited, and one of them begun anew.
      if (this.#own === own) this.#own = undefined
      throw new LogUnavailable(messageOf(error), { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const own = await this.#own?.catch(() => undefined)
    await own?.close()
  }
}
