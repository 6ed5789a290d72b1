// The commands that read or write the log itself, over NATS.
import type { Config } from '../config/options.ts'
import { connectLog, type LogConnection, LogUnavailable } from '../log/connection.ts'
import { readNatsJson } from '../nats-server/address.ts'
import { createLog } from '../observe/log.ts'
import { StartError } from '../observe/service.ts'

/**
 * Does some work on the log of the service: that of NOWNEXT_NATS_URL, else the one that runs on the data folder.
 * Throws a StartError of one line where there is none, or where it goes away.
 */
export async function withLog<T>(
  config: Pick<Config, 'natsUrl' | 'data'>,
  command: string,
  work: (connection: LogConnection) => Promise<T>,
): Promise<T> {
  const address = config.natsUrl === undefined ? readNatsJson(config.data) : { url: config.natsUrl }
  if (address === undefined)
    throw new StartError(
      `no service runs on the data folder ${config.data}; set NOWNEXT_NATS_URL, or --data to its folder`,
    )
  const connection = await connectLog(address, `nownext ${command}`, createLog('silent'), null)
  try {
    return await work(connection)
  } catch (error) {
    if (error instanceof LogUnavailable) throw new StartError(error.message)
    throw error
  } finally {
    await connection.close()
  }
}
