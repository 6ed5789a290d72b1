// Plain requests of the old paths, and the headers that say that they will end (RFC 9745 and 8594).
import { STATUS_CODES } from 'node:http'
import { Problem } from '../api/errors.ts'
import type { ChannelStates } from '../edge/channel-state.ts'
import type { Directory } from '../edge/directory.ts'
import { type Answer, commonHeaders, nothing, preflight, problemAnswer, represent } from '../edge/headers.ts'
import type { ListenerPolls } from '../edge/listener-polls.ts'
import { channelJson, emptyArray, stationJson } from '../edge/representation.ts'
import { targetOf } from './paths.ts'

/** The old paths are deprecated since there is anything else. */
const deprecatedSinceMs = Date.UTC(2026, 10, 27)

/** On every answer, that to an upgrade too. `sunsetMs`: unix milliseconds, or null where no end is set. */
export function endHeaders(sunsetMs: number | null): Array<[name: string, value: string]> {
  const deprecation: [string, string] = ['Deprecation', `@${deprecatedSinceMs / 1000}`]
  return sunsetMs === null ? [deprecation] : [deprecation, ['Sunset', new Date(sunsetMs).toUTCString()]]
}

export type HttpContext = {
  states: ChannelStates
  directory: Directory
  polls: ListenerPolls
}

/** The record that is shown now. Rejects with a Problem. */
export async function current(
  method: string,
  url: string,
  ifNoneMatch: string,
  { states, directory, polls }: HttpContext,
): Promise<Answer> {
  if (method === 'OPTIONS') return preflight
  const target = targetOf(url.split('?', 1)[0] ?? '')
  if (target === undefined) throw new Problem('not-found')
  if (method !== 'GET' && method !== 'HEAD') throw new Problem('method-not-allowed')
  const { scope, key } = target
  await directory.whenKnown(scope, key, () => undefined)
  if (scope === 'listener')
    return await new Promise((resolve, reject) => {
      const reading = polls.answer({ scope, key, form: 'json' }, 'now', ifNoneMatch, resolve)
      if (reading instanceof Promise) reading.catch(reject)
    })
  if (scope === 'station') {
    const station = states.station(key)
    return represent(station === undefined ? emptyArray : stationJson(station, 'now'), ifNoneMatch)
  }
  const channel = states.channel(key)
  const body = channel === undefined ? null : channelJson(channel, 'now')
  return body === null ? nothing : represent(body, ifNoneMatch)
}

/** An answer with all its headers. */
export type Complete = { status: number; headers: Array<[string, string]>; body: Uint8Array | null }

export function complete(answer: Answer, sunsetMs: number | null): Complete {
  const { status, headers, body } = answer
  const length: Array<[string, string]> = body === null ? [] : [['Content-Length', String(body.length)]]
  return {
    status: Number.parseInt(status, 10),
    headers: [...commonHeaders, ...endHeaders(sunsetMs), ...headers, ...length].map(([n, v]) => [n, v]),
    body,
  }
}

/** The refusal of an upgrade, as bytes: the connection is no longer HTTP's. */
export function refusedUpgrade(problem: Problem, sunsetMs: number | null): Buffer {
  const { status, headers, body } = complete(problemAnswer(problem), sunsetMs)
  const lines = [...headers, ['Connection', 'close']].map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`
  return Buffer.concat([Buffer.from(head), body ?? new Uint8Array()])
}
