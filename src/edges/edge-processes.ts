// Several edge processes on one port: started, kept running, replaced one after the other, drained together.
// Each binds the port itself (SO_REUSEPORT), and the system spreads the connections among them.
import { AggregatorRegistry, type Registry } from 'prom-client'
import type { Config } from '../config/options.ts'
import type { LogAddress } from '../log/connection.ts'
import { requireOwnEdgePort } from '../observe/listen.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Service } from '../observe/service.ts'
import { EdgeProcess } from './edge-process.ts'
import { edgeConfigOf, type MetricList } from './messages.ts'

export type EdgeProcessesOptions = {
  config: Config
  /** Where the processes find NATS. */
  address: LogAddress
  log: Logger
  metrics: Metrics
  /** Called once when one of them cannot be kept running. */
  onFailed: (error: Error) => void
}

const firstDelayMs = 50
const delayFactor = 4
/** So many exits of one place within the window are a crash loop. */
const maxExits = 5
const exitWindowMs = 60_000
/** For polls on connections that were opened just before; where the whole service ends, nobody waits for them. */
const replacedLingerMs = 1_000

/** One of the N; its process may be replaced. */
type Place = {
  readonly number: number
  process: EdgeProcess | undefined
  /** When its processes ended unexpectedly, of the last window. */
  exits: number[]
  restart: NodeJS.Timeout | undefined
}

export class EdgeProcesses implements Service {
  readonly id = 'edges'
  readonly #options: EdgeProcessesOptions
  readonly #places: Place[]
  /** Also one that is not in its place yet, or no more. */
  readonly #living = new Set<EdgeProcess>()
  /** What processes that are gone have counted: a sum must not fall when one of them goes. */
  #counted: Promise<MetricList> = Promise.resolve([])
  #port: number
  #state: 'starting' | 'serving' | 'ending' = 'starting'
  #replacing = false

  constructor(options: EdgeProcessesOptions) {
    this.#options = options
    this.#port = options.config.edgePort
    this.#places = Array.from({ length: options.config.edges }, (_, index) => ({
      number: index + 1,
      process: undefined,
      exits: [],
      restart: undefined,
    }))
  }

  /** The port that they share. */
  get port(): number {
    return this.#port
  }

  /** Resolves when all take requests. Throws the StartError of the first that does not. */
  async start(): Promise<void> {
    const [first, ...others] = this.#places
    if (first === undefined) return
    const { host, edgePort, shareEdgePort } = this.#options.config
    await requireOwnEdgePort(host, edgePort, shareEdgePort)
    // The first one finds the port where any free one will do.
    this.#port = await this.#fill(first).ready
    await Promise.all(others.map(place => this.#fill(place).ready))
    if (this.#state === 'starting') this.#state = 'serving'
  }

  /** Each of them must serve: one that does not is missed by those that the system would send to it. */
  unready(): string | null {
    if (this.#state === 'ending') return 'draining'
    const reasons = this.#places.flatMap(({ number, process }) =>
      (process?.reasons ?? ['ended, to be started again']).map(reason => `process ${number}: ${reason}`),
    )
    return reasons.length === 0 ? null : reasons.join('; ')
  }

  /** Replaces one after the other, each by one that already serves, so that the port is never left alone. */
  async replaceAll(): Promise<void> {
    if (this.#replacing || this.#state !== 'serving') return
    this.#replacing = true
    const { log } = this.#options
    try {
      for (const place of this.#places) {
        const successor = this.#launch(place)
        await successor.ready
        if (this.#isEnding()) return
        clearTimeout(place.restart)
        const predecessor = place.process
        place.process = successor
        await predecessor?.drain(replacedLingerMs)
      }
      log.info('all edge processes are replaced')
    } catch (error) {
      log.error({ err: error }, 'an edge process cannot be replaced; the others stay')
    } finally {
      this.#replacing = false
    }
  }

  async drain(): Promise<void> {
    this.#end()
    await Promise.all([...this.#living].map(process => process.drain(0)))
  }

  async stop(): Promise<void> {
    this.#end()
    await Promise.all([...this.#living].map(process => process.stop()))
  }

  /** The metrics of this process and all edge processes in one text: counters and most gauges as sums. */
  async render(own: Registry): Promise<string> {
    await Promise.all([...this.#living].map(process => process.refreshMetrics()))
    // In one moment, so that a process that ends meanwhile is counted once.
    const living = [...this.#living].map(process => process.metrics)
    const counted = this.#counted
    const lists = [await own.getMetricsAsJSON(), await counted, ...living]
    return await AggregatorRegistry.aggregate(lists).metrics()
  }

  #end(): void {
    this.#state = 'ending'
    for (const place of this.#places) clearTimeout(place.restart)
  }

  #isEnding(): boolean {
    return this.#state === 'ending'
  }

  #fill(place: Place): EdgeProcess {
    place.process = this.#launch(place)
    return place.process
  }

  #launch(place: Place): EdgeProcess {
    const { config, address } = this.#options
    const launched = new EdgeProcess({
      number: place.number,
      config: edgeConfigOf(config, this.#port),
      address,
    })
    this.#living.add(launched)
    this.#count()
    void launched.exited.then(how => this.#exited(place, launched, how))
    return launched
  }

  #exited(place: Place, process: EdgeProcess, how: string): void {
    const { log, metrics, onFailed } = this.#options
    this.#living.delete(process)
    this.#count()
    this.#counted = this.#counted.then(counted => sumOfCounters(counted, process.metrics))
    if (place.process !== process) return
    place.process = undefined
    // While it starts for the first time, start() tells of it.
    if (this.#state !== 'serving') return
    metrics.edgeProcessExits.inc()
    const now = performance.now()
    place.exits = [...place.exits.filter(at => at > now - exitWindowMs), now]
    if (place.exits.length >= maxExits) {
      const seconds = exitWindowMs / 1000
      onFailed(
        new Error(
          `edge process ${place.number} ended ${maxExits} times within ${seconds} s, last with ${how}`,
        ),
      )
      return
    }
    const delayMs = firstDelayMs * delayFactor ** (place.exits.length - 1)
    log.error({ process: place.number, how, delayMs }, 'an edge process ended; it is started again')
    place.restart = setTimeout(() => this.#fill(place), delayMs)
  }

  #count(): void {
    this.#options.metrics.edgeProcesses.set(this.#living.size)
  }
}

/** What is counted goes on; a gauge of a process that is gone says nothing. */
async function sumOfCounters(...lists: MetricList[]): Promise<MetricList> {
  const sum = await AggregatorRegistry.aggregate(lists).getMetricsAsJSON()
  return sum.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
}
