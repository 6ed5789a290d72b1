// The old protocol on a real log, and its real client.
import nes from '@hapi/nes'
import { Legacy, type LegacyOptions } from '../../src/legacy/legacy.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { World } from '../edge/world.ts'

export type Got = { path: string; message: Record<string, unknown>; revoked?: true }

/** Starts the role; `settings` replace its options. */
export async function startLegacy(
  { connection, registry }: World,
  options: Partial<LegacyOptions> & { settings?: Partial<LegacyOptions['config']> } = {},
) {
  const { settings, ...rest } = options
  const metrics = createMetrics()
  const config = {
    host: '127.0.0.1',
    legacyPort: 0,
    legacySunset: undefined,
    drain: 0,
    socketQueue: 262_144,
    ...settings,
  }
  const legacy = new Legacy({
    ...{ config, tls: undefined, connection, registry, log: createLog('silent'), metrics },
    ...rest,
  })
  await legacy.start()
  const url = `127.0.0.1:${legacy.port}`
  return { legacy, metrics, httpUrl: `http://${url}`, wsUrl: `ws://${url}` as const }
}

export type TestLegacy = Awaited<ReturnType<typeof startLegacy>>

/** The protocol's own client, and all that its subscriptions got. */
export class Player {
  readonly client: InstanceType<typeof nes.Client>
  readonly got: Got[] = []
  readonly disconnects: Array<{ code: number; reason: string }> = []
  readonly errors: Error[] = []

  constructor(url: `ws://${string}`) {
    this.client = new nes.Client(url)
    this.client.onDisconnect = (_again, { code, reason }) => void this.disconnects.push({ code, reason })
    this.client.onError = error => void this.errors.push(error)
  }

  /** Queued where it is not connected yet, as part of the hello. */
  subscribe(path: string): Promise<void> {
    return this.client.subscribe(path, (message, { revoked }) => {
      this.got.push({ path, message: message as Record<string, unknown>, ...(revoked && { revoked }) })
    })
  }

  connect(): Promise<void> {
    return this.client.connect({ reconnect: false })
  }

  /** `path type song` of each record. */
  get said(): string[] {
    return this.got.map(({ path, message }) => `${path} ${message['type']} ${message['song']}`)
  }
}
