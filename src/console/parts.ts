// What the routes of the console's API are made of.
import type { Server } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
} from 'fastify'
import { Problem } from '../api/errors.ts'
import { timezoneName } from '../domain/zone.ts'
import type { EventLog } from '../log/event-log.ts'
import type { History } from '../log/history.ts'
import type { Mounts } from '../log/mounts.ts'
import type { Registry } from '../log/registry.ts'
import type { Tokens } from '../log/tokens.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Serial } from './serial.ts'

export type ConsoleParts = {
  registry: Registry
  tokens: Tokens
  mounts: Mounts
  events: EventLog
  history: History
  log: Logger
  metrics: Metrics
  /** Every change goes through here. */
  writes: Serial
}

/** A Fastify whose handlers are typed by their TypeBox schemas. */
export type ApiApp = FastifyInstance<
  Server,
  RawRequestDefaultExpression<Server>,
  RawReplyDefaultExpression<Server>,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** A body may name its key; another one than the path's is a mistake. */
export function requireSameKey(path: string, body: string | undefined): void {
  if (body === undefined || body === path) return
  const message = `must be left out or be ${path}, the key of the path`
  throw new Problem('invalid', undefined, { errors: [{ field: 'key', message }] })
}

/** The zone to store: every record names it, so in the letters in which it is written. */
export function zoneOf({ timezone }: { timezone?: string | null }): string | null {
  return timezone ? (timezoneName(timezone) ?? timezone) : null
}
