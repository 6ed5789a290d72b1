// The steady load: numbered pushes over many channels, each sent again under its Idempotency-Key until it is accepted.
import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

export type PushTarget = { channelkey: string; token: string }

/** An answer that was no success; status 0: none came, the connection broke. */
export type Refusal = { atMs: number; status: number; tookMs: number; retryAfter: string | undefined }

export type PushersOptions = {
  baseUrl: string
  targets: readonly PushTarget[]
  /** Of all channels together. */
  perSecond: number
}

/** An encoder that gave up sooner would see less than what is promised: an answer within 9 s. */
const patienceMs = 20_000
const againMs = 250
/** Each so-manieth push of a channel announces a next track. */
const nextEvery = 5

export class Pushers {
  /** Number → when it was answered 200, unix milliseconds. */
  readonly acknowledged = new Map<number, number>()
  readonly #options: PushersOptions
  #refusals: Refusal[] = []
  #number = 0
  #stop: AbortController | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: PushersOptions) {
    this.#options = options
  }

  start(): void {
    const { targets, perSecond } = this.#options
    const stop = new AbortController()
    this.#stop = stop
    const everyMs = (targets.length * 1000) / perSecond
    this.#running = Promise.all(
      targets.map(async (target, index) => {
        const startMs = performance.now() + (everyMs * index) / targets.length
        for (let turn = 0; !stop.signal.aborted; turn++) {
          const pauseMs = startMs + turn * everyMs - performance.now()
          if (pauseMs > 0) await wait(pauseMs)
          // Stopped meanwhile: what is not begun is not owed.
          if (!stop.signal.aborted) await this.#pushUntilAccepted(target, turn)
        }
      }),
    )
  }

  /** Begins no more; resolves when each that was begun is accepted. */
  async stop(): Promise<void> {
    this.#stop?.abort()
    await this.#running
  }

  /** What was refused since the last call. */
  takeRefusals(): Refusal[] {
    const refusals = this.#refusals
    this.#refusals = []
    return refusals
  }

  async #pushUntilAccepted(target: PushTarget, turn: number): Promise<void> {
    const number = ++this.#number
    const kind = turn % nextEvery === nextEvery - 1 ? 'next' : 'now'
    for (;;) {
      const startMs = performance.now()
      const { status, retryAfter } = await push(this.#options.baseUrl, target, number, kind)
      if (status === 200) {
        this.acknowledged.set(number, Date.now())
        return
      }
      this.#refusals.push({ atMs: Date.now(), status, tookMs: performance.now() - startMs, retryAfter })
      await wait(againMs)
    }
  }
}

type Answer = { status: number; retryAfter: string | undefined }

/** One push on a connection of its own, as encoders do. Never rejects. */
function push(
  baseUrl: string,
  { channelkey, token }: PushTarget,
  number: number,
  tracktype: string,
): Promise<Answer> {
  const body = { song: `Song ${number}`, artist: 'Artist', duration: 1, id: String(number), tracktype }
  return new Promise(resolve => {
    const broken = () => resolve({ status: 0, retryAfter: undefined })
    const sent = request(
      `${baseUrl}/metapush/${channelkey}/${token}`,
      {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', 'idempotency-key': `n${number}` },
        signal: AbortSignal.timeout(patienceMs),
      },
      answer => {
        answer.resume()
        answer.on('error', broken)
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] }),
        )
      },
    )
    sent.on('error', broken)
    sent.end(JSON.stringify(body))
  })
}
