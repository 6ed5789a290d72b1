// What was shown, read from the bucket `channel` with the plain client: the reference for what players received.
import { DeliverPolicy, jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

/** A record that went to players. */
export type Shown = { position: string; channelkey: string; stationkey: string; text: string }

/** Every record that any value has sent, in the order of the log. */
export async function readShown(url: string): Promise<Shown[]> {
  const nc = await connect({ servers: url })
  try {
    const shown: Shown[] = []
    const consumer = await jetstream(nc).consumers.get('KV_channel', { deliver_policy: DeliverPolicy.All })
    let { num_pending: pending } = await consumer.info(true)
    while (pending > 0) {
      for await (const message of await consumer.fetch({
        max_messages: Math.min(pending, 500),
        expires: 5_000,
      })) {
        pending = message.info.pending
        if (message.data.length === 0) continue
        const value = message.json<{ send: Array<'now' | 'next'> } & Record<'now' | 'next', ShownRecord>>()
        for (const type of value.send) {
          const { position, channelkey, stationkey } = value[type]
          shown.push({ position, channelkey, stationkey, text: JSON.stringify(value[type]) })
        }
      }
    }
    return shown
  } finally {
    await nc.close()
  }
}

type ShownRecord = { position: string; channelkey: string; stationkey: string }

export type Comparison = {
  records: number
  missing: number
  doubles: number
  stepsBack: number
  others: number
}

/** Compares what a player received with what was shown since its first record; all but `records` should be 0. */
export function compare(shown: readonly Shown[], received: readonly string[]): Comparison {
  const result = { records: received.length, missing: 0, doubles: 0, stepsBack: 0, others: 0 }
  const places = new Map(shown.map(({ position }, place) => [position, place]))
  let last: number | undefined
  for (const text of received) {
    const record = JSON.parse(text)
    const place = places.get(record.position)
    // The same JSON, whatever numbers and escapes were pushed: this test pushes none that parsing would change.
    if (place === undefined || shown[place]?.text !== JSON.stringify(record)) {
      result.others++
      continue
    }
    if (last !== undefined) {
      if (place === last) result.doubles++
      else if (place < last) result.stepsBack++
      else result.missing += place - last - 1
    }
    last = place
  }
  result.missing += shown.length - 1 - (last ?? -1)
  return result
}
