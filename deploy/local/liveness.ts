// What a service manager does with a nats-server whose JetStream has ended itself, as it does when a write fails: it is
// started again, here once its disk has room. (In Kubernetes: a liveness probe on this address.)
import { ask } from './ask.ts'
import type { NatsNode } from './nats-nodes.ts'

const everyMs = 1_000
/** One that has just been started has no JetStream yet either. */
const failuresAllowed = 3
const leastFreeBytes = 32 * 1024 * 1024

/** Looks after the nodes until the returned function is called. */
export function keepAlive(nodes: readonly NatsNode[]): () => void {
  const failures = new Map<NatsNode, number>()
  const timer = setInterval(() => {
    for (const node of nodes) void look(node, failures)
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

async function look(node: NatsNode, failures: Map<NatsNode, number>): Promise<void> {
  const { process, disk, monitorUrl } = node
  const { status } = await ask(`${monitorUrl}/healthz?js-enabled-only=true`)
  const count = status === 503 ? (failures.get(node) ?? 0) + 1 : 0
  failures.set(node, count)
  if (count <= failuresAllowed || disk.freeBytes < leastFreeBytes) return
  failures.set(node, 0)
  await process.stop()
  process.launch()
}
