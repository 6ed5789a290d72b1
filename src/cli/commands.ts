// The one table of commands.
import { applyCommand } from './apply.ts'
import { channelCommands } from './channel.ts'
import type { Command } from './command.ts'
import { exportCommand } from './export.ts'
import { historyCommand } from './history.ts'
import { importCommand } from './import.ts'
import { pushCommand } from './push.ts'
import { rebuildCommand } from './rebuild.ts'
import { stationCommands } from './station.ts'
import { tokenCommands } from './token.ts'
import { watchCommand } from './watch.ts'

/** All but `serve`, in the order in which --help lists them. */
export const commands: readonly Command[] = [
  pushCommand,
  watchCommand,
  ...stationCommands,
  ...channelCommands,
  ...tokenCommands,
  applyCommand,
  historyCommand,
  exportCommand,
  importCommand,
  rebuildCommand,
]
