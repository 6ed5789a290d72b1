// `history`: what a channel played, read from the log (rule 27).

import { Problem } from '../api/errors.ts'
import { encodeHistory, maxHistoryLimit, readHistoryQuery } from '../api/history.ts'
import { encodeOperatorRow, type PlayRow } from '../domain/history.ts'
import { isKey } from '../domain/keys.ts'
import { textOf } from '../domain/record.ts'
import { History } from '../log/history.ts'
import { isKnownChannel } from '../log/known-channel.ts'
import { defaultReadLimits, ReadBudget } from '../log/read-budget.ts'
import { readTopology } from '../log/topology.ts'
import { createMetrics } from '../observe/metrics.ts'
import { StartError } from '../observe/service.ts'
import type { Call, Command, CommandFlags } from './command.ts'
import { withLog } from './log-access.ts'
import type { Output } from './output.ts'

const queryFlags = ['from', 'to', 'etype', 'source'] as const

export const historyCommand: Command = {
  name: 'history',
  operands: ['channelkey'],
  description: 'What a channel played, the newest first',
  flags: [
    { flag: 'from', type: 'string', description: 'Earliest start: a time (RFC 3339, unix)' },
    { flag: 'to', type: 'string', description: 'Latest start' },
    { flag: 'limit', type: 'integer', min: 1, max: 1_000_000, description: 'How many plays; left out: 20' },
    { flag: 'etype', type: 'string', description: 'Only this content type: an ID, or a name such as News' },
    {
      flag: 'source',
      type: 'string',
      choices: ['metapush', 'fallback'],
      description: 'What was pushed (left out: this), or what took its place',
    },
    {
      flag: 'format',
      type: 'string',
      choices: ['table', 'json', 'csv'],
      description: 'Left out: table',
    },
  ],
  run: history,
}

async function history({ config, flags, operands: [channelkey = ''], output }: Call): Promise<void> {
  if (!isKey(channelkey)) throw new StartError(`${JSON.stringify(channelkey)} is no channelkey`)
  const filter = { ...filterOf(flags), stationkey: null }
  const limit = flags.number('limit') ?? 20
  const { rows, history } = await withLog(config, 'history', async connection => {
    const topology = await readTopology(connection)
    const budget = new ReadBudget(defaultReadLimits, createMetrics().historyReading)
    const history = new History({ connection, topology, budget })
    try {
      const rows: PlayRow[] = []
      for (let before: number | null = null; rows.length < limit; ) {
        const channels = [{ channelkey, recent: false }]
        const count = Math.min(limit - rows.length, maxHistoryLimit)
        const page = await history.page({ channels, filter, before, limit: count })
        rows.push(...page.rows)
        if (page.next === null) break
        before = page.next
      }
      if (rows.length === 0 && !(await isKnownChannel(connection, channelkey)))
        throw new StartError(`no such channel: ${channelkey}; the log has nothing of it either`)
      return { rows, history }
    } finally {
      await history.close()
    }
  })
  await print(output, flags.text('format') ?? 'table', rows, sequence => history.positionOf(sequence))
}

function filterOf(flags: CommandFlags) {
  const query = new URLSearchParams()
  for (const flag of queryFlags) query.set(flag, flags.text(flag) ?? '')
  try {
    const facts = { nowMs: Date.now(), zone: 'UTC', sequenceOf: () => null }
    return readHistoryQuery(query, facts).filter
  } catch (error) {
    if (error instanceof Problem) throw new StartError(`--${error.message}`)
    throw error
  }
}

async function print(
  output: Output,
  format: string,
  rows: PlayRow[],
  positionOf: (sequence: number) => string,
): Promise<void> {
  if (format !== 'table') {
    const text = await encodeHistory(format === 'csv' ? 'csv' : 'json', rows, encodeOperatorRow, positionOf)
    return await output.text(format === 'json' ? `${text}\n` : text)
  }
  const cells = rows.map(({ record, played, reason }) => [
    record.start,
    played === null ? 'now' : reason === null ? clock(played) : 'late',
    textOf(record),
    record.id,
  ])
  output.table(['START', 'PLAYED', 'TITLE', 'ID'], cells, 'nothing was played')
}

/** Seconds as 3:45. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`
}
