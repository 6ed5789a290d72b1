// The reducer: what a push means (rules 13 to 17). Pure and total; its only clock is the event's time in the log,
// so that a replay of the log gives the same records, whoever does it and whenever.
import {
  atItsStart,
  type Candidate,
  candidateOf,
  isSilent,
  playOf,
  recordOf,
  withoutClock,
} from './candidate.ts'
import { changeOf, type Outcome } from './change.ts'
import type { DeleteEvent, LoggedEvent, NowNextEvent, PushEvent, TickEvent } from './event.ts'
import { fallbackDueMs, fallbackPlay, isFallback } from './fallback.ts'
import { aheadOf, heldOfSameId, holdOneMore, waitsAlready } from './hold.ts'
import { nextBeside, pendingNext } from './next-slot.ts'
import { type Change, type ChannelState, initialState, type PendingNext, type Play } from './state.ts'
import {
  corrected,
  hasOtherId,
  hasOtherTime,
  isSameText,
  judgeNow,
  judgeRepeat,
  type NowVerdict,
  remember,
} from './verdict.ts'

/**
 * Folds one event. The changes come in the order in which listeners see them; a plain repeat makes none.
 * Folding the same event again on the state after any of them yields the rest.
 */
export function reduce(state: ChannelState, logged: LoggedEvent): Change[] {
  if (isOfRemovedChannel(state, logged.event)) return []
  const changes: Change[] = []
  let before = state
  const take = (outcome: Outcome, momentMs: number) => {
    const change = changeOf(before, outcome, momentMs)
    if (change !== null) changes.push(change)
    before = outcome.state
  }
  for (let due = dueOutcome(before, logged); due !== null; due = dueOutcome(before, logged)) {
    take(due.outcome, due.atMs)
  }
  take(transition(before, logged), logged.timeMs)
  return changes
}

/** When something of this channel is due next, or null. Unix milliseconds on the log's clock. */
export function dueMs(state: ChannelState): number | null {
  const times = [state.held[0]?.push.startMs, state.next?.endMs, fallbackDueMs(state)]
  const due = times.filter(time => time !== null && time !== undefined)
  return due.length === 0 ? null : Math.min(...due)
}

// ---------------------------------------------------------------- states and events

type Phase = 'silent' | 'playing' | 'fallback'
type Transition<E extends NowNextEvent> = (state: ChannelState, logged: LoggedEvent, event: E) => Outcome
type Row = {
  now: Transition<PushEvent>
  next: Transition<PushEvent>
  tick: Transition<TickEvent>
  delete: Transition<DeleteEvent>
}

/** Every state with every event. What was due by the event's time is already done: a tick has nothing left to do. */
const table: Record<Phase, Row> = {
  silent: { now: onNow, next: onNext, tick: unchanged, delete: onDelete },
  playing: { now: onNow, next: onNextBesideNow, tick: unchanged, delete: onDelete },
  fallback: { now: onNow, next: onNext, tick: unchanged, delete: onDelete },
}

/** What each verdict on a `now` beside the current one does. */
const verdicts: Record<NowVerdict, (state: ChannelState, push: Candidate, current: Play) => Outcome> = {
  repeat: unchanged,
  correction: correctNow,
  older: (state, push) => late(state, push, 'older'),
  overtaken: (state, push) => late(state, push, 'overtaken'),
  'old list': (state, push) => late(state, push, 'old list'),
  'wrong clock': (state, push) => begin(state, withoutClock(push)),
  'new play': begin,
}

function phaseOf({ now }: ChannelState): Phase {
  if (now === null) return 'silent'
  return isFallback(now) ? 'fallback' : 'playing'
}

function transition(state: ChannelState, logged: LoggedEvent): Outcome {
  const { event } = logged
  const row = table[phaseOf(state)]
  switch (event.kind) {
    case 'now':
      return row.now(inContextOf(state, event), logged, event)
    case 'next':
      return row.next(inContextOf(state, event), logged, event)
    case 'tick':
      return row.tick(state, logged, event)
    case 'delete':
      return row.delete(state, logged, event)
  }
}

/** Events of a channel that was removed since are as if never said; its successor has a higher revision. */
function isOfRemovedChannel(state: ChannelState, event: NowNextEvent): boolean {
  switch (event.kind) {
    case 'tick':
      return false
    case 'delete':
      return event.revision <= Math.max(state.deletedRevision, state.context?.revision ?? 0)
    default:
      return event.context.revision <= state.deletedRevision
  }
}

/** Each push brings the channel's context with it; `announceNext: false` hides a pending next at once. */
function inContextOf(state: ChannelState, { context }: PushEvent): ChannelState {
  return { ...state, context }
}

function unchanged(state: ChannelState): Outcome {
  return { state, play: null }
}

// ---------------------------------------------------------------- what is due

/** The first thing that was due by the event's time: held pushes by start, then next's end, then the fallback. */
function dueOutcome(
  state: ChannelState,
  { channelkey, timeMs }: LoggedEvent,
): { outcome: Outcome; atMs: number } | null {
  const held = state.held[0]
  if (held && held.push.startMs <= timeMs) {
    const rest = { ...state, held: state.held.slice(1) }
    const push = atItsStart(channelkey, held.sequence, held.push)
    return { outcome: arrive(rest, push), atMs: held.push.startMs }
  }
  if (state.next && state.next.endMs <= timeMs) {
    return { outcome: unchanged({ ...state, next: null }), atMs: state.next.endMs }
  }
  const fallbackMs = fallbackDueMs(state)
  if (fallbackMs !== null && fallbackMs <= timeMs) {
    const now = fallbackPlay(channelkey, state, fallbackMs)
    return { outcome: { state: { ...state, now }, play: { kind: 'new' } }, atMs: fallbackMs }
  }
  return null
}

// ---------------------------------------------------------------- now

function onNow(state: ChannelState, logged: LoggedEvent, event: PushEvent): Outcome {
  const push = candidateOf(logged, event)
  const replaced = heldOfSameId(state.held, push)
  const held = replaced ? state.held.filter(other => other !== replaced) : state.held
  const rest = { ...state, held }
  if (replaced && isSilent(push)) return unchanged(rest)
  switch (aheadOf(push)) {
    case 'at once':
      return arrive(rest, push)
    case 'wrong clock':
      return arrive(rest, withoutClock(push))
    case 'held':
      return waitsAlready(held, push) ? unchanged(rest) : hold(rest, push, event)
  }
}

function hold(state: ChannelState, push: Candidate, event: PushEvent): Outcome {
  const { held, dropped } = holdOneMore(state.held, push.sequence, event)
  const [first] = dropped
  if (first === undefined) return unchanged({ ...state, held })
  const record = recordOf(atItsStart(push.channelkey, first.sequence, first.push))
  const warnings = dropped.map(({ push: { element } }) => `no room to hold ${element.id}: never shown`)
  return { state: { ...state, held }, play: { kind: 'late', reason: 'too many held', record }, warnings }
}

/** A `now` whose start has come. */
function arrive(state: ChannelState, push: Candidate): Outcome {
  const { now } = state
  if (now === null || isFallback(now)) return begin(state, push)
  return verdicts[judgeNow(push, now, state.recent)](state, push, now)
}

function begin(state: ChannelState, push: Candidate): Outcome {
  return {
    state: {
      ...state,
      now: playOf(push),
      next: nextBeside(push, state.next),
      recent: remember(state.recent, push),
    },
    play: { kind: 'new' },
    warnings: push.warnings,
  }
}

function correctNow(state: ChannelState, push: Candidate, current: Play): Outcome {
  const now = { ...current, record: corrected(push, current.record) ?? current.record }
  return { state: { ...state, now }, play: { kind: 'correction' }, warnings: push.warnings }
}

function late(state: ChannelState, push: Candidate, reason: 'older' | 'overtaken' | 'old list'): Outcome {
  return { state, play: { kind: 'late', reason, record: recordOf(push) }, warnings: push.warnings }
}

// ---------------------------------------------------------------- next

function onNextBesideNow(state: ChannelState, logged: LoggedEvent, event: PushEvent): Outcome {
  const { now } = state
  const push = candidateOf(logged, event)
  const isTheNow =
    now !== null && isSameText(push, now.record) && !hasOtherId(push, now) && !hasOtherTime(push, now)
  return isTheNow && !isSilent(push) ? unchanged(state) : onNext(state, logged, event)
}

function onNext(state: ChannelState, logged: LoggedEvent, event: PushEvent): Outcome {
  const push = candidateOf(logged, event)
  const { next, now } = state
  if (isSilent(push)) return unchanged({ ...state, next: null })
  const verdict = next === null ? 'other' : judgeRepeat(push, next, next.endMs)
  if (next === null || verdict === 'other') return unchanged({ ...state, next: pendingNext(push, now) })
  return verdict === 'repeat' ? unchanged(state) : unchanged({ ...state, next: correctNext(push, next) })
}

function correctNext(push: Candidate, next: PendingNext): PendingNext {
  return { ...next, record: corrected(push, next.record) ?? next.record }
}

// ---------------------------------------------------------------- removal

function onDelete(_: ChannelState, __: LoggedEvent, { revision }: DeleteEvent): Outcome {
  return { state: { ...initialState, deletedRevision: revision }, play: null, removed: true }
}
