// One of several edge processes that share a port. Its parent tells it all that it needs over IPC, and hears of it.
import { setTimeout as sleep } from 'node:timers/promises'
import { Edge } from './edge/edge.ts'
import { type FromEdge, signMs, type ToEdge } from './edges/messages.ts'
import { connectLog, type LogConnection } from './log/connection.ts'
import { Registry } from './log/registry.ts'
import { ensureTopology } from './log/topology.ts'
import { createLog, type Logger, type LogLevel } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import { Stack } from './stack.ts'

type Orders = Extract<ToEdge, { type: 'start' }>

/** How often it is looked whether it can serve. */
const checkMs = 250

const metrics = createMetrics()
let stack: Stack | undefined
let edge: Edge | undefined
let log: Logger | undefined

// A terminal and a service manager signal every process of a group; here the parent alone says when to end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined)

// Nothing is left to serve for: without its parent nobody would ever end this process.
process.on('disconnect', () => process.exit(1))
if (!process.connected) process.exit(1)

process.on('uncaughtException', error => {
  log?.fatal({ err: error }, 'a fault of the program: this edge process ends')
  void leave(1)
})

process.on('message', (message: ToEdge) => {
  if (message.type === 'start') void begin(message)
  else if (message.type === 'metrics') void sendMetrics()
  else void drain(message.lingerMs)
})

async function begin(orders: Orders): Promise<void> {
  try {
    log = createLog(orders.config.logLevel as LogLevel).child({ process: orders.number })
    stack = new Stack(log)
    const port = await startEdge(orders, stack, log)
    stack.serving()
    await tell({ type: 'ready', port })
    followReasons(stack)
    setInterval(() => void tell({ type: 'alive' }), signMs).unref()
  } catch (error) {
    // Whatever fails while everything is being stopped fails because of that.
    if (stack?.stopping) return
    const { name, message } = error as Error
    await tell({ type: 'failed', message: name === 'StartError' ? message : `${name}: ${message}` })
    process.exit(1)
  }
}

/** Resolves to the port, which is bound only now that the edge has caught up. */
async function startEdge({ number, config, address }: Orders, stack: Stack, log: Logger): Promise<number> {
  const connection = await connectLog(address, `nownext edge ${number}`, log, metrics)
  await stack.start(connectionPart(connection))
  const { replicas, retention: retentionDays } = config
  const topology = await ensureTopology(connection, { replicas, retentionDays })
  const registry = new Registry(connection)
  // The edge starts it, once it has read what is shown.
  await stack.start({ id: 'registry', start: async () => undefined, stop: () => registry.stop() })
  edge = new Edge({ config, connection, topology, registry, log, metrics, bindWhenLoaded: true })
  await stack.start(edge)
  return edge.port
}

function connectionPart(connection: LogConnection) {
  return {
    id: 'log',
    start: async () => undefined,
    unready: () => (connection.connected() ? null : 'not connected to NATS'),
    stop: () => connection.close(),
  }
}

/** Drains and ends. What it counted until the end goes with it. */
async function drain(lingerMs: number): Promise<void> {
  await edge?.drain()
  await sleep(lingerMs)
  await stack?.shutdown()
  await leave(0)
}

async function leave(status: number): Promise<void> {
  await sendMetrics()
  process.exit(status)
}

async function sendMetrics(): Promise<void> {
  await tell({ type: 'metrics', metrics: await metrics.registry.getMetricsAsJSON() })
}

function followReasons(stack: Stack): void {
  let last = ''
  const check = () => {
    const reasons = stack.reasons()
    const now = reasons.join()
    if (now !== last) void tell({ type: 'reasons', reasons })
    last = now
  }
  setInterval(check, checkMs).unref()
}

/** Resolves when the message is on its way, or can't be: then the parent is gone, and so are we. */
function tell(message: FromEdge): Promise<void> {
  return new Promise(resolve => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
