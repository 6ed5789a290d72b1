// A cluster under load, and one fault after the other done to it; each is judged once everything has come to rest.
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { Cluster } from '../../deploy/local/cluster.ts'
import { Clients } from './clients.ts'
import type { ClientEvent } from './clients-process.ts'
import type { Fault } from './faults.ts'
import { Judge, longestGapMs } from './judge.ts'
import { Pushers, type PushTarget, type Refusal } from './pushers.ts'
import type { Random } from './random.ts'
import { missedTargets, type Row } from './report.ts'

export type TrialOptions = {
  program: string
  random: Random
  seed: number
  clients: number
  /** Pushes, of all channels together. */
  perSecond: number
}

const channelCount = 60
/** The load before a fault and after it. */
const calmMs = 3_000
const restLimitMs = 60_000
const wholeLimitMs = 30_000
/** Rule 1, and a little for the way to and fro. */
const answerLimitMs = 9_500

export class Trial {
  readonly rows: Row[] = []
  readonly #options: TrialOptions
  readonly #cluster: Cluster
  readonly #nc: NatsConnection
  readonly #pushers: Pushers
  readonly #clients: Clients
  readonly #judge: Judge
  #judgedUpTo = 0

  static async start(options: TrialOptions): Promise<Trial> {
    const cluster = new Cluster({
      program: options.program,
      env: { NOWNEXT_PUSH_RATE: '1000' },
      say: line => console.log(`started: ${line}`),
    })
    await cluster.start()
    try {
      const [user, pass] = ['nownext', 'local-cluster']
      const servers = cluster.nats.map(({ address }) => address)
      const nc = await connect({ servers, user, pass, maxReconnectAttempts: -1, reconnectTimeWait: 200 })
      const targets = await makeChannels(cluster)
      return new Trial(options, cluster, nc, targets)
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  private constructor(
    options: TrialOptions,
    cluster: Cluster,
    nc: NatsConnection,
    targets: readonly PushTarget[],
  ) {
    this.#options = options
    this.#cluster = cluster
    this.#nc = nc
    const { perSecond, clients: count, seed } = options
    this.#pushers = new Pushers({ baseUrl: cluster.baseUrl, targets, perSecond })
    const channelkeys = targets.map(({ channelkey }) => channelkey)
    this.#clients = new Clients({ wsUrl: cluster.wsUrl, channelkeys, count, seed })
    this.#judge = new Judge(nc)
  }

  get folder(): string {
    return this.#cluster.folder
  }

  facts(): string {
    const { clients, perSecond } = this.#options
    return `${perSecond} pushes a second on ${channelCount} channels, ${clients} WebSocket clients`
  }

  /** Does one fault under load, and judges. undefined where this machine does not allow it. */
  async try(fault: Fault): Promise<Row | undefined> {
    const { network, nats } = this.#cluster
    if (fault.needs === 'network' && !network.isolated) return undefined
    if (fault.needs === 'disk' && !nats.every(({ disk }) => disk.small)) return undefined
    await this.#allOpen()
    // What was before, a crowd that comes at once, is none of this fault's.
    this.#judge.judgeClients(await this.#clients.take(), this.#clients.channelOf, this.#pushers.acknowledged)
    const startMs = Date.now()
    this.#pushers.start()
    await wait(calmMs)
    const world = { cluster: this.#cluster, nc: this.#nc, random: this.#options.random }
    const hit = await fault.run(world)
    await this.#healthy()
    await wait(calmMs)
    const endMs = Date.now()
    await this.#pushers.stop()
    await this.#healthy()
    const row = await this.#judgeAll(fault, hit, { startMs, endMs })
    row.faults.push(...missedTargets(fault.targets ?? {}, row))
    this.rows.push(row)
    return row
  }

  async stop(keep: boolean): Promise<void> {
    this.#clients.stop()
    await this.#nc.close()
    if (keep)
      cpSync(this.folder, `${this.folder}-kept`, { recursive: true, filter: path => !/nats\d$/.test(path) })
    await this.#cluster.stop()
  }

  /** Every process ready, every replica current. */
  async #healthy(): Promise<void> {
    for (const process of this.#cluster.processes) await process.ready()
  }

  /** Until every client has its socket; the first time, before anything was pushed. */
  async #allOpen(): Promise<void> {
    for (const endMs = Date.now() + restLimitMs; Date.now() < endMs; await wait(100)) {
      const edges = await Promise.all(
        ['edge1', 'edge2'].map(name => this.#cluster.metric(name, 'nownext_edge_sockets')),
      )
      if (edges.reduce((sum, count) => sum + count, 0) >= this.#clients.count) return
    }
    throw new Error('not every client got a socket')
  }

  async #judgeAll(fault: Fault, hit: string, window: { startMs: number; endMs: number }): Promise<Row> {
    const complaints = await this.#judge.readOn()
    const found = await this.#judgeClients()
    const { acknowledged } = this.#pushers
    const fresh = [...acknowledged].filter(([number]) => number > this.#judgedUpTo)
    this.#judgedUpTo = Math.max(...acknowledged.keys())
    const counts = fresh.map(([number]) => this.#judge.said.get(number) ?? 0)
    const refusals = this.#pushers.takeRefusals()
    const row: Row = {
      fault: fault.name,
      hit,
      acknowledged: fresh.length,
      refused: refusals.filter(({ status }) => status === 503).length,
      broken: refusals.filter(({ status }) => status === 0).length,
      lost: counts.filter(count => count === 0).length,
      doubled: counts.filter(count => count > 1).length,
      outOfOrder: found.outOfOrder,
      missing: found.missing,
      gaps: found.gaps,
      reconnects: found.reconnects,
      acceptMs: longestPauseMs(
        fresh.map(([, ms]) => ms),
        window,
      ),
      deliveryMs: found.longestGapMs,
      wholeMs: found.wholeMs,
      faults: complaints,
    }
    const zeros = ['lost', 'doubled', 'outOfOrder', 'missing', 'gaps'] as const
    complaints.push(...zeros.filter(name => row[name] > 0).map(name => `${name}: ${row[name]}`))
    complaints.push(
      ...badRefusals(refusals, fault.mute === true ? Infinity : answerLimitMs),
      ...found.strange,
    )
    return row
  }

  /** Waits until every client has everything, and compares. */
  async #judgeClients() {
    const channelOf = this.#clients.channelOf
    const events: ClientEvent[] = []
    const total = { ...this.#judge.judgeClients([], channelOf, this.#pushers.acknowledged) }
    for (const endMs = Date.now() + wholeLimitMs; ; await wait(200)) {
      const more = await this.#clients.take()
      for (const event of more) events.push(event)
      const found = this.#judge.judgeClients(more, channelOf, this.#pushers.acknowledged)
      for (const name of ['outOfOrder', 'missing', 'gaps', 'reconnects'] as const) total[name] += found[name]
      total.wholeMs = Math.max(total.wholeMs, found.wholeMs)
      total.strange.push(...found.strange.slice(0, 5))
      const isWhole = this.#judge.isWhole(this.#clients.count, channelOf)
      if (!isWhole && Date.now() < endMs) continue
      if (!isWhole) total.strange.push(`not every client got everything within ${wholeLimitMs / 1000} s`)
      return { ...total, longestGapMs: longestGapMs(events) }
    }
  }
}

async function makeChannels({ consoleUrl, adminToken }: Cluster): Promise<PushTarget[]> {
  const put = async (path: string, body: object) => {
    const answer = await fetch(`${consoleUrl}/api${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.ok, true, await answer.clone().text())
    return (await answer.json()) as { token: string }
  }
  await put('/stations/faults', { name: 'Faults' })
  const keys = Array.from({ length: channelCount }, (_, index) => `faults_${index}`)
  return await Promise.all(
    keys.map(async channelkey => {
      const { token } = await put(`/channels/${channelkey}`, { station: 'faults', name: channelkey })
      return { channelkey, token }
    }),
  )
}

/** A push that is not accepted is answered 503 with Retry-After in time, or its connection broke with the process. */
function badRefusals(refusals: readonly Refusal[], limitMs: number): string[] {
  const isBad = ({ status, tookMs, retryAfter }: Refusal) =>
    tookMs > limitMs || (status !== 0 && (status !== 503 || retryAfter === undefined))
  const bad = refusals.filter(isBad)
  return bad.length === 0 ? [] : [`${bad.length} refused otherwise than promised: ${JSON.stringify(bad[0])}`]
}

/** The longest time without an accepted push, while pushes were sent. */
function longestPauseMs(times: number[], { startMs, endMs }: { startMs: number; endMs: number }): number {
  const sorted = [...times.sort((a, b) => a - b), endMs]
  let last = startMs
  let longest = 0
  for (const ms of sorted) {
    longest = Math.max(longest, Math.min(ms, endMs) - last)
    last = Math.max(last, ms)
  }
  return longest
}
