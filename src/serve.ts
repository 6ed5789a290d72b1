// `nownext serve`: from the options to running roles, and back.
import { addressesOf } from './addresses.ts'
import { type Config, options } from './config/options.ts'
import { readTls } from './config/tls.ts'
import { firstSteps, laterSteps, makeDemo } from './first-start.ts'
import { connectLog, type LogAddress, type LogConnection } from './log/connection.ts'
import { ensureTopology } from './log/topology.ts'
import { EmbeddedNats } from './nats-server/embedded.ts'
import { findNatsServer } from './nats-server/find.ts'
import { createLog, type Logger, type LogLevel } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import { Operations } from './observe/operations.ts'
import { StartError } from './observe/service.ts'
import { startRoles } from './roles.ts'
import { Interrupted, Stack } from './stack.ts'

const allRoles = options.roles.default.split(',')

/**
 * A signal that follows another within this asks for the same thing: npm passes on what the terminal, or a service manager
 * that signals the whole group, has sent here already. Nobody presses Ctrl-C twice so fast and means it.
 */
const sameRequestMs = 500

/** Longer than every part takes on its own for its last work; past it the process ends anyway. */
const shutdownLimitMs = 30_000

/**
 * Runs the configured roles until a signal. The process ends here: 0 after an orderly shutdown, 1 where something
 * cannot start or breaks, 130 on a second Ctrl-C. Throws a StartError, with everything stopped again.
 */
export async function serve(config: Config): Promise<void> {
  const startedMs = performance.now()
  const log = createLog(config.logLevel as LogLevel)
  const stack = new Stack(log)
  const end = endOnce(stack, log, config)
  followSignals(end, log)
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'a fault of the program: it ends')
    void end(1, 'stop')
  })
  try {
    await startAll(config, stack, log, startedMs, () => void end(1, 'shutdown'))
  } catch (error) {
    // Whatever fails while everything is being stopped fails because of that.
    if (stack.stopping) return
    await stack.stop()
    log.debug({ err: error }, 'the start failed')
    throw error instanceof StartError ? error : new StartError(messageOf(error))
  }
}

async function startAll(
  config: Config,
  stack: Stack,
  log: Logger,
  startedMs: number,
  broken: () => void,
): Promise<void> {
  const tls = readTls(config)
  const metrics = createMetrics()
  const operations = new Operations({ port: config.opsPort, metrics, reasons: () => stack.reasons() })
  await stack.start(operations)
  const embedded = config.natsUrl === undefined
  const address = embedded ? await embedNats(config, stack, log, broken) : { url: config.natsUrl ?? '' }
  const name = `nownext ${config.roles.join(',')}`
  let connection: LogConnection | undefined
  await stack.start({
    id: 'log',
    async start() {
      connection = await connectLog(address, name, log, metrics)
    },
    unready: () => (connection?.connected() ? null : 'not connected to NATS'),
    stop: async () => connection?.close(),
  })
  if (connection === undefined) throw new Interrupted()
  const { replicas, retention: retentionDays } = config
  const topology = await ensureTopology(connection, { replicas, retentionDays })
  const roles = await startRoles(stack, { config, tls, address, connection, topology, log, metrics, broken })
  const { edges } = roles
  if (edges !== undefined) operations.renderWith(() => edges.render(metrics.registry))
  const demo = embedded && roles.registry.stations().length === 0 ? await makeDemo(roles) : undefined
  stack.serving()
  const addresses = addressesOf(config, roles, operations)
  const seconds = Math.round(performance.now() - startedMs) / 1000
  // On a terminal the addresses follow below.
  const fields = process.stdout.isTTY ? {} : { seconds, ...addresses }
  log.info(fields, `ready after ${seconds.toFixed(1)} s`)
  if (demo !== undefined) firstSteps(config, addresses, demo, log)
  else laterSteps(config, addresses)
}

async function embedNats(config: Config, stack: Stack, log: Logger, broken: () => void): Promise<LogAddress> {
  const binary = await findNatsServer({ say: line => log.info(line) })
  const nats = new EmbeddedNats({
    dataDir: config.data,
    binary,
    log,
    onFailed(error) {
      log.fatal({ err: error }, 'the nats-server cannot be kept running')
      broken()
    },
  })
  let address: LogAddress | undefined
  await stack.start({
    id: 'nats-server',
    async start() {
      address = await nats.start().catch(error => {
        throw withHint(error, config)
      })
    },
    stop: () => nats.stop(),
  })
  if (address === undefined) throw new Interrupted()
  return address
}

/** One nats-server for several processes is no embedded one, and who asks for some roles wants several processes. */
function withHint(error: unknown, { roles }: Config): unknown {
  if (!(error instanceof StartError) || allRoles.every(role => roles.includes(role))) return error
  return new StartError(
    `${error.message}. Processes with some of the roles share one NATS: set NOWNEXT_NATS_URL for each`,
  )
}

type End = (status: number, how: 'shutdown' | 'stop') => Promise<void>

/** Ends the process in order; the first to ask decides the status. */
function endOnce(stack: Stack, log: Logger, { leave, drain }: Config): End {
  let ending: Promise<void> | undefined
  return (status, how) => {
    ending ??= (async () => {
      const limit = setTimeout(
        () => {
          log.error('the shutdown takes too long: it is cut short')
          process.exit(1)
        },
        shutdownLimitMs + (leave + drain) * 1000,
      )
      await (how === 'stop' ? stack.stop() : stack.shutdown(leave * 1000))
      clearTimeout(limit)
      log.info('stopped')
      process.exit(status)
    })()
    return ending
  }
}

/** The first signal ends in order; a second one at once, and the embedded nats-server ends with the process. */
function followSignals(end: End, log: Logger): void {
  let askedMs: number | undefined
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const nowMs = performance.now()
      if (askedMs !== undefined) {
        if (nowMs - askedMs >= sameRequestMs) process.exit(130)
        return
      }
      askedMs = nowMs
      log.info({ signal }, 'shutting down; a second signal ends it at once')
      void end(0, 'shutdown')
    })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
