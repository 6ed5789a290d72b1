// The bodies of polls (rules 21 to 23), made when first asked for and kept until the state changes.
import { createHash } from 'node:crypto'
import { textOf } from '../domain/record.ts'
import {
  type Answers,
  type AskedFor,
  recordsOf,
  type ShownChannel,
  type ShownStation,
} from './channel-state.ts'
import type { Representation } from './headers.ts'
import type { View } from './listener-view.ts'
import type { Selection } from './route.ts'

const open = Buffer.from('[')
const comma = Buffer.from(',')
const close = Buffer.from(']')

/** The answer for a channel; null: nothing to show. */
export function channelJson(channel: ShownChannel, selection: Selection): Representation | null {
  return kept(channel, selection, () => {
    const records = recordsOf(channel, selection)
    if (records.length === 0) return null
    const bytes = records.map(record => record.bytes)
    return json(selection === 'all' ? arrayOf(bytes) : (bytes[0] ?? new Uint8Array()))
  })
}

/** The text of a channel (rule 22); null: nothing to show. There is no text form of both records. */
export function channelText(channel: ShownChannel, selection: 'now' | 'next'): Representation | null {
  return kept(channel, selection === 'now' ? 'text of now' : 'text of next', () => {
    const record = channel[selection]
    return record === null ? null : recordText(record.bytes)
  })
}

/** The array for a station, ordered by channelkey; with `all`, each channel's `now` before its `next` (rule 21). */
export function stationJson(station: ShownStation, selection: Selection): Representation {
  const made = kept(station, selection, () => {
    const channels = [...station.channels.values()].sort(byChannelkey)
    const records = channels.flatMap(channel => recordsOf(channel, selection))
    const own = records.filter(record => record.stationkey === station.stationkey)
    return json(arrayOf(own.map(record => record.bytes)))
  })
  return made ?? emptyArray
}

/** The answer for one listener, not kept; null: nothing to show. */
export function listenerAnswer(
  { now, next }: View,
  form: 'json' | 'txt',
  selection: Selection,
): Representation | null {
  const records = [selection === 'next' ? null : now, selection === 'now' ? null : next].filter(
    r => r !== null,
  )
  const [first] = records
  if (first === undefined) return null
  if (form === 'txt') return recordText(first)
  return json(selection === 'all' ? arrayOf(records) : first)
}

/** The answer for a station of which nothing is shown. */
export const emptyArray: Representation = json(Buffer.from('[]'))

function kept(of: { answers: Answers | null }, name: AskedFor, make: () => Representation | null) {
  of.answers ??= new Map()
  let answer = of.answers.get(name)
  if (answer === undefined) {
    answer = make()
    of.answers.set(name, answer)
  }
  return answer
}

function byChannelkey(a: ShownChannel, b: ShownChannel): number {
  return a.channelkey < b.channelkey ? -1 : 1
}

function arrayOf(records: Uint8Array[]): Uint8Array {
  return Buffer.concat([
    open,
    ...records.flatMap((bytes, at) => (at === 0 ? [bytes] : [comma, bytes])),
    close,
  ])
}

function recordText(record: Uint8Array): Representation {
  const text = textOf(JSON.parse(Buffer.from(record).toString()))
  return etagged('text/plain; charset=utf-8', Buffer.from(text))
}

function json(bytes: Uint8Array): Representation {
  return etagged('application/json', bytes)
}

/** Made from the bytes alone, so that it is equal on all edges (rule 23). */
export function etagged(contentType: string, bytes: Uint8Array): Representation {
  return {
    contentType,
    bytes,
    etag: `"${createHash('sha1').update(bytes).digest('base64url')}"`,
    answers: null,
  }
}
