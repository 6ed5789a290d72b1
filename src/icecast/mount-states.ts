// How the mounts fare: told to the console through the log, and to the metrics.
import { type Mount, type MountState, mountId } from '../domain/mount.ts'
import { messageOf } from '../log/connection.ts'
import type { Mounts } from '../log/mounts.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'

const rewriteMs = 2_000

type Health = 'waiting' | 'working' | 'failing'

/** One channel's: what is known, and the one write that may be under way. */
type Board = {
  states: Map<string, MountState>
  dirty: boolean
  writing: Promise<void> | undefined
}

export class MountStates {
  readonly #mounts: Mounts
  readonly #metrics: Metrics
  readonly #log: Logger
  readonly #boards = new Map<string, Board>()
  readonly #retries = new Set<NodeJS.Timeout>()

  constructor(mounts: Mounts, metrics: Metrics, log: Logger) {
    this.#mounts = mounts
    this.#metrics = metrics
    this.#log = log
  }

  /** The channel's mounts from now on. What an earlier run wrote of them stays until there is news. */
  configure(channelkey: string, mounts: readonly Mount[]): void {
    const board = this.#boards.get(channelkey) ?? { states: new Map(), dirty: false, writing: undefined }
    this.#boards.set(channelkey, board)
    const before = new Map([...this.#mounts.states(channelkey)].map(state => [mountId(state), state]))
    for (const [id, state] of board.states) before.set(id, state)
    for (const state of board.states.values()) this.#count(healthOf(state), -1)
    board.states = new Map(
      mounts.map(mount => [mountId(mount), before.get(mountId(mount)) ?? untried(mount)]),
    )
    for (const state of board.states.values()) this.#count(healthOf(state), 1)
    const gone = [...before.keys()].some(id => !board.states.has(id))
    if (gone) this.#save(channelkey, board)
    else if (mounts.length === 0) this.#boards.delete(channelkey)
  }

  taken(channelkey: string, mount: Mount, title: string): void {
    this.#metrics.icecastTitles.inc({ result: 'taken' })
    const sentAt = new Date().toISOString()
    const { before } = this.#set(channelkey, mount, { title, sentAt, error: null, errorSince: null })
    if (before?.error != null)
      this.#log.info({ channelkey, ...placeOf(mount) }, 'the mount takes titles again')
  }

  failed(channelkey: string, mount: Mount, error: string): void {
    this.#metrics.icecastTitles.inc({ result: 'failed' })
    const before = this.#boards.get(channelkey)?.states.get(mountId(mount))
    // Each failed attempt is counted, but only news are written and logged.
    if (before === undefined || before.error === error) return
    const errorSince = before.errorSince ?? new Date().toISOString()
    this.#set(channelkey, mount, { error, errorSince })
    this.#log.warn({ channelkey, ...placeOf(mount), error }, 'a mount does not take its title')
  }

  /** Resolves when what is known is written, or could not be. */
  async stop(): Promise<void> {
    for (const timer of this.#retries) clearTimeout(timer)
    await Promise.all([...this.#boards.values()].map(board => board.writing))
  }

  #set(channelkey: string, mount: Mount, news: Partial<MountState>): { before: MountState | undefined } {
    const board = this.#boards.get(channelkey)
    const before = board?.states.get(mountId(mount))
    if (board === undefined || before === undefined) return { before: undefined }
    const after = { ...before, ...news }
    board.states.set(mountId(mount), after)
    this.#count(healthOf(before), -1)
    this.#count(healthOf(after), 1)
    this.#save(channelkey, board)
    return { before }
  }

  #count(state: Health, by: number): void {
    this.#metrics.icecastMounts.inc({ state }, by)
  }

  /** One write at a time; what comes meanwhile makes one more. */
  #save(channelkey: string, board: Board): void {
    board.dirty = true
    board.writing ??= this.#write(channelkey, board).finally(() => {
      board.writing = undefined
      if (board.states.size === 0 && !board.dirty) this.#boards.delete(channelkey)
    })
  }

  async #write(channelkey: string, board: Board): Promise<void> {
    while (board.dirty) {
      board.dirty = false
      try {
        await this.#mounts.putStates(channelkey, [...board.states.values()])
      } catch (error) {
        this.#log.debug({ channelkey, error: messageOf(error) }, 'how the mounts fare could not be written')
        const timer = setTimeout(() => {
          this.#retries.delete(timer)
          this.#save(channelkey, board)
        }, rewriteMs)
        this.#retries.add(timer)
        return
      }
    }
  }
}

function untried({ url, mount }: Mount): MountState {
  return { url, mount, title: null, sentAt: null, error: null, errorSince: null }
}

function healthOf({ error, title }: MountState): Health {
  if (error !== null) return 'failing'
  return title === null ? 'waiting' : 'working'
}

function placeOf({ url, mount }: Mount): { url: string; mount: string } {
  return { url, mount }
}
