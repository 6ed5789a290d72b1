// All scenarios, in the order of the page.
import type { Row, Scenario } from './harness/rows.ts'
import { connects } from './scenarios/connects.ts'
import { edges } from './scenarios/edges.ts'
import { fanOut } from './scenarios/fan-out.ts'
import { growth } from './scenarios/growth.ts'
import { intake } from './scenarios/intake.ts'
import { longLog } from './scenarios/long-log.ts'
import { peers } from './scenarios/peers.ts'
import { polls } from './scenarios/polls.ts'
import { pushToFrame } from './scenarios/push-to-frame.ts'
import { slowReaders } from './scenarios/slow.ts'
import { start } from './scenarios/start.ts'
import { station } from './scenarios/station.ts'

export const scenarios: readonly Scenario[] = [
  fanOut,
  station,
  slowReaders,
  polls,
  connects,
  peers,
  intake,
  pushToFrame,
  start,
  longLog,
  growth,
  edges,
]

export type Result = {
  at: string
  /** One minute's average. */
  loadBefore: number
  machine: string
  /** As the scenario was then. */
  about: string
  rows: Row[]
}

/** By the scenario's name. */
export type Results = Record<string, Result | undefined>
