// Numbered pushes over several channels, and what became of them in the log, read with the plain client.
import { DeliverPolicy, jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

export type PushTarget = { channelkey: string; token: string }

/** What a client of the push service knows afterwards. */
export type PushRecord = { channelkey: string; number: number; status: number }

/**
 * Pushes "Song <n>" to channel n mod count, each channel's one after the other, all channels at once. A push that is not
 * answered 200 is sent again under the same Idempotency-Key until it is; `aborted` ends that.
 */
export async function pushNumbered(
  baseUrl: () => string,
  targets: PushTarget[],
  numbers: { from: number; to: number },
  onPushed: (record: PushRecord) => void,
  pause: (number: number) => Promise<void> = async () => undefined,
): Promise<void> {
  await Promise.all(
    targets.map(async (target, index) => {
      for (let number = numbers.from; number < numbers.to; number++) {
        if (number % targets.length !== index) continue
        await pause(number)
        for (let status = 0; status !== 200; ) {
          status = await pushOne(baseUrl(), target, number)
          onPushed({ channelkey: target.channelkey, number, status })
          if (status !== 200) await new Promise(resolve => setTimeout(resolve, 50))
        }
      }
    }),
  )
}

/** The status of the answer, 0 where there was none. */
export async function pushOne(
  baseUrl: string,
  { channelkey, token }: PushTarget,
  number: number,
): Promise<number> {
  try {
    const answer = await fetch(`${baseUrl}/metapush/${channelkey}/${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `n${number}` },
      body: JSON.stringify({ song: `Song ${number}`, artist: 'Artist', duration: 1, id: String(number) }),
      signal: AbortSignal.timeout(15_000),
    })
    await answer.arrayBuffer()
    return answer.status
  } catch (error) {
    if (error instanceof Error) return 0
    throw error
  }
}

/** How often each number stands in EVENTS. */
export async function readNumbers(nats: {
  url: string
  user?: string
  password?: string
}): Promise<Map<number, number>> {
  const nc = await connect({
    servers: nats.url,
    ...(nats.user === undefined ? {} : { user: nats.user, pass: nats.password ?? '' }),
  })
  try {
    const found = new Map<number, number>()
    const consumer = await jetstream(nc).consumers.get('EVENTS', { deliver_policy: DeliverPolicy.All })
    let { num_pending: pending } = await consumer.info(true)
    while (pending > 0) {
      for await (const message of await consumer.fetch({
        max_messages: Math.min(pending, 500),
        expires: 5_000,
      })) {
        pending = message.info.pending
        const event = message.json<{ kind: string; element?: { id: string } }>()
        if (event.element === undefined) continue
        const number = Number(event.element.id)
        found.set(number, (found.get(number) ?? 0) + 1)
      }
    }
    return found
  } finally {
    await nc.close()
  }
}
