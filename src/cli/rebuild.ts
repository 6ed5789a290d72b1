// `rebuild`: all that was said is folded again, and what is shown is put right where it differs.
import { askRebuild } from '../log/rebuild-calls.ts'
import { StartError } from '../observe/service.ts'
import type { Call, Command } from './command.ts'
import { withLog } from './log-access.ts'
import { count } from './progress.ts'

export const rebuildCommand: Command = {
  name: 'rebuild',
  operands: [],
  description: 'Fold the whole log again beside the live service, and put right what is shown wrongly',
  flags: [],
  run: rebuild,
}

async function rebuild({ config, output }: Call): Promise<void> {
  const progress = output.progress('rebuild')
  const report = await withLog(config, 'rebuild', connection =>
    askRebuild(connection, ({ events, of }) => progress.update(events, of)),
  ).finally(() => progress.end())
  if (report.type === 'failed') throw new StartError(`nothing was rebuilt: ${report.reason}`)
  const { events, channels, rewritten, channelkeys } = report
  output.line(`${count(events)} events of ${count(channels)} channels folded`)
  if (rewritten === 0) return output.line('all is shown as it was said; nothing was written')
  const more = rewritten > channelkeys.length ? ', …' : ''
  output.line(`${count(rewritten)} channels put right: ${channelkeys.join(', ')}${more}`)
}
