// Records as they arrive, by WebSocket (spec 4.4).
import { WebSocket } from 'ws'
import { type MetadataRecord, textOf } from '../domain/record.ts'
import { StartError } from '../observe/service.ts'
import { type Call, type Command, jsonFlag } from './command.ts'
import type { Output } from './output.ts'

export const watchCommand: Command = {
  name: 'watch',
  operands: ['key'],
  description: 'Print what a channel shows, as it comes, until Ctrl-C',
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

/** Ends only with an error: a channel can go on for years. */
function watch({ config, flags, operands: [key = ''], output }: Call): Promise<void> {
  const kind = flags.text('of') ?? 'channel'
  const url = `${config.apiUrl.replace(/^http/, 'ws')}/metadata/${kind}/${encodeURIComponent(key)}`
  const print = flags.has('json') ? (json: string) => output.line(json) : printer(output, kind !== 'channel')
  return new Promise((_resolve, reject) => {
    const socket = new WebSocket(url)
    socket.on('message', data => print(data.toString()))
    socket.on('unexpected-response', (_request, { statusCode }) => {
      const reason =
        statusCode === 404 ? `no such ${kind}: ${key}` : `the delivery service answers ${statusCode}`
      reject(new StartError(reason))
      socket.terminate()
    })
    socket.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new StartError(
          `the delivery service at ${config.apiUrl} cannot be reached: ${error.code ?? error.message}`,
        ),
      ),
    )
    socket.on('close', (code, reason) =>
      reject(
        new StartError(`the delivery service closed the connection (${code} ${reason})`.replace(' )', ')')),
      ),
    )
  })
}

function printer(output: Output, withChannel: boolean): (json: string) => void {
  return json => {
    const record: MetadataRecord = JSON.parse(json)
    const channel = withChannel ? `${record.channelkey}  ` : ''
    output.line(`${record.start}  ${channel}${record.type.padEnd(4)}  ${textOf(record) || '(none)'}`)
  }
}
