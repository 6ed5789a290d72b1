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
import { aheadOf, heldCorrected, heldOfSameId, heldTwin, holdOneMore } from './hold.ts'
import { nextBeside, pendingNext } from './next-slot.ts'
import {
  type Change,
  type ChannelState,
  type HeldPush,
  initialState,
  type PendingNext,
  type Play,
} from './state.ts'
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
  for (let due = firstDue(before); due !== null && due.atMs <= logged.timeMs; due = firstDue(before)) {
    take(due.happen(logged.channelkey), due.atMs)
  }
  take(transition(before, logged), logged.timeMs)
  return changes
}

/** When something of this channel is due next, or null. Unix milliseconds on the log's clock. */
export function dueMs(state: ChannelState): number | null {
  return firstDue(state)?.atMs ?? null
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

type Due = { atMs: number; happen: (channelkey: string) => Outcome }

/** What falls due first. At one moment the held push goes before the end of `next`, and that before the fallback. */
function firstDue(state: ChannelState): Due | null {
  const { held, next } = state
  const [first] = held
  const fallbackMs = fallbackDueMs(state)
  const dues: Due[] = []
  if (first) dues.push({ atMs: first.push.startMs, happen: key => startHeld(state, key, first) })
  if (next) dues.push({ atMs: next.endMs, happen: () => unchanged({ ...state, next: null }) })
  if (fallbackMs !== null) dues.push({ atMs: fallbackMs, happen: key => fallBack(state, key, fallbackMs) })
  return dues.sort((a, b) => a.atMs - b.atMs)[0] ?? null
}

function startHeld(state: ChannelState, channelkey: string, { sequence, push }: HeldPush): Outcome {
  return arrive({ ...state, held: state.held.slice(1) }, atItsStart(channelkey, sequence, push))
}

function fallBack(state: ChannelState, channelkey: string, atMs: number): Outcome {
  return { state: { ...state, now: fallbackPlay(channelkey, state, atMs) }, play: { kind: 'new' } }
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
      return hold(rest, push, event)
  }
}

/** Keeps a push until its start; the repeat of one that waits already may correct that one, no more. */
function hold(state: ChannelState, push: Candidate, event: PushEvent): Outcome {
  const twin = heldTwin(state.held, push)
  if (twin === undefined) return holdAmong(state, state.held, push, { sequence: push.sequence, push: event })
  const corrected = heldCorrected(twin.push, push)
  if (corrected === null) return unchanged(state)
  const others = state.held.filter(other => other !== twin)
  return holdAmong(state, others, push, { sequence: twin.sequence, push: corrected })
}

function holdAmong(state: ChannelState, others: HeldPush[], push: Candidate, entry: HeldPush): Outcome {
  const { held, dropped } = holdOneMore(others, entry)
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
