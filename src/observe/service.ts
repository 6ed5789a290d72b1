// A part of the program that has a life: a role, a server, a connection.

export interface Service {
  readonly id: string
  /** Resolves once the service works; rejects with a StartError where the operator must do something. */
  start(): Promise<void>
  /** null when it can serve, else the reason why not (for /readyz). */
  unready(): string | null
  /** Takes no new work and finishes what it has. What faces users drains first. */
  drain(): Promise<void>
  /** Releases everything. */
  stop(): Promise<void>
}

/** Something that the operator must mend; its message is one clear line, shown without a stack. */
export class StartError extends Error {
  override name = 'StartError'
}
