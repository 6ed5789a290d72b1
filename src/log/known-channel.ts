// Whether anything is known of a channel: it is there, or it has been.
import type { LogConnection } from './connection.ts'
import { readLast } from './direct.ts'
import { streams } from './topology.ts'

/** channelkey: of the form of a key. Throws LogUnavailable. */
export async function isKnownChannel(connection: LogConnection, channelkey: string): Promise<boolean> {
  const said = ['now', 'next', 'delete'].map(kind => `event.${channelkey}.${kind}`)
  const [events, entries] = await Promise.all([
    readLast(connection, streams.events, said),
    readLast(connection, streams.registry, [`$KV.registry.channel.${channelkey}`]),
  ])
  return events.length > 0 || entries.some(({ data }) => data.length > 0)
}
