// A connection to a test's nats-server, with streams made and nothing logged.
import { setTimeout as wait } from 'node:timers/promises'
import { connectLog, type LogConnection } from '../../src/log/connection.ts'
import { ensureTopology, type Topology } from '../../src/log/topology.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'

export type TestLog = { connection: LogConnection; topology: Topology; metrics: Metrics }

const level = process.env['NOWNEXT_TEST_LOG'] === undefined ? 'silent' : 'debug'
export const testLogger = createLog(level)

export async function openLog(url: string): Promise<TestLog> {
  const metrics = createMetrics()
  const connection = await connectLog({ url }, 'test', testLogger, metrics)
  return {
    connection,
    metrics,
    topology: await ensureTopology(connection, { replicas: 1, retentionDays: 400 }),
  }
}

/** Waits for a condition, looking every few milliseconds; throws with its name when it does not come true in time. */
export async function until(
  name: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not in time: ${name}`)
    await wait(10)
  }
}

/** The value of a metric without labels, or of one set of labels. */
export async function metricOf(
  metric: { get(): Promise<{ values: Array<{ value: number; labels: object }> }> },
  labels: object = {},
): Promise<number> {
  const { values } = await metric.get()
  return values.find(entry => JSON.stringify(entry.labels) === JSON.stringify(labels))?.value ?? 0
}
