// Records as they arrive, by WebSocket (spec 4.4).
import { setTimeout as sleep } from 'node:timers/promises'
import { isKey, isMetaid } from '../domain/keys.ts'
import { type MetadataRecord, textOf } from '../domain/record.ts'
import { StartError } from '../observe/service.ts'
import { type Call, type Command, jsonFlag } from './command.ts'
import { follow } from './follow.ts'
import type { Output } from './output.ts'
import { unreachable } from './reach.ts'

export const watchCommand: Command = {
  name: 'watch',
  operands: ['key'],
  description: 'Print what a channel shows, as it comes, until Ctrl-C',
  more: 'Where the connection is lost, it connects again and goes on after the last record that it printed.',
  flags: [
    {
      flag: 'of',
      type: 'string',
      choices: ['channel', 'station', 'listener'],
      description: 'What the key names; channel unless given',
    },
    jsonFlag,
  ],
  run: watch,
}

/** From the first to the longest pause between two tries; each is a random part of it, so that many don't come at once. */
const pauseMs = { first: 500, longest: 15_000 }

/** Ends only with an error: a channel can go on for years. */
async function watch({ config, flags, operands: [key = ''], output }: Call): Promise<void> {
  const kind = flags.text('of') ?? 'channel'
  if (!(kind === 'listener' ? isMetaid(key) : isKey(key)))
    throw new StartError(`${JSON.stringify(key)} is no ${kind === 'listener' ? 'metaid' : `${kind}key`}`)
  const url = new URL(`${config.apiUrl.replace(/^http/, 'ws')}/metadata/${kind}/${key}`)
  const print = flags.has('json') ? (json: string) => output.line(json) : printer(output, kind !== 'channel')
  let wasOpen = false
  for (let tries = 0; ; tries++) {
    const end = await follow(url, {
      opened() {
        output.note(wasOpen ? 'connected again' : `connected to ${config.apiUrl}; ${kind} ${key}:`)
        wasOpen = true
        tries = 0
      },
      message(json) {
        const { position } = JSON.parse(json)
        if (position) url.searchParams.set('after', position)
        print(json)
      },
    })
    if (end.kind === 'refused' && end.status === 404) throw new StartError(`no such ${kind}: ${key}`)
    if (end.kind === 'closed' && end.code === channelDeleted)
      throw new StartError(`the channel ${key} was deleted`)
    if (end.kind === 'failed' && !wasOpen) throw unreachable('the delivery service', config.apiUrl, end.error)
    if (end.kind === 'refused' && end.status < 429)
      throw new StartError(`the delivery service answers ${end.status}`)
    const pause = Math.round(Math.random() * Math.min(pauseMs.longest, pauseMs.first * 2 ** tries))
    output.note(`${end.reason}; connecting again in ${(pause / 1000).toFixed(1)} s`)
    await sleep(pause)
  }
}

/** Rule 24. */
const channelDeleted = 4404

function printer(output: Output, withChannel: boolean): (json: string) => void {
  return json => {
    const record: MetadataRecord | { type: 'gap' } = JSON.parse(json)
    if (record.type === 'gap') return output.note('some records are missing here; what is shown now:')
    const channel = withChannel ? `${record.channelkey}  ` : ''
    output.line(`${record.start}  ${channel}${record.type.padEnd(4)}  ${textOf(record) || '(none)'}`)
  }
}
