// Every metric of the program in one table, so that names, help and labels stay consistent.
// Label values never hold a token; channelkeys are no labels (there may be a hundred thousand).
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = ReturnType<typeof createMetrics>

/** The metrics of one process, on a registry of their own. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = <L extends string = never>(name: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name: `nownext_${name}`, help, labelNames, registers })
  /** The aggregate says what a gauge of several edge processes means together. */
  const gauge = <L extends string = never>(
    name: string,
    help: string,
    labelNames: L[] = [],
    aggregator: 'sum' | 'min' | 'max' = 'sum',
  ) => new Gauge<L>({ name: `nownext_${name}`, help, labelNames, registers, aggregator })
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `nownext_${name}`, help, buckets, registers })
  /**
   * Counts answers by their status line, for what happens thousands of times a second: prom-client takes labels apart
   * at each count, so it is told only when it is asked.
   */
  const answers = (name: string, help: string) => {
    const counts = new Map<string, number>()
    new Counter<'status'>({
      name: `nownext_${name}`,
      help,
      labelNames: ['status'],
      registers,
      collect() {
        for (const [status, count] of counts) this.inc({ status: status.slice(0, 3) }, count)
        counts.clear()
      },
    })
    return {
      inc(statusLine: string): void {
        counts.set(statusLine, (counts.get(statusLine) ?? 0) + 1)
      },
    }
  }
  return {
    registry,
    intakePushes: counter('intake_pushes_total', 'Pushes by status of the answer', ['status']),
    intakeAppend: histogram(
      'intake_append_seconds',
      "Time from receipt to the log's ack",
      [0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1, 4, 9],
    ),
    intakeAppendRetries: counter(
      'intake_append_retries_total',
      'Appends sent again under the same message id',
    ),
    intakeWaiting: gauge('intake_waiting_pushes', 'Pushes that wait for their append'),
    intakeWaitingSessions: gauge('intake_waiting_sessions', 'Sessions that wait to be stored'),
    intakeWaitingHooks: gauge('intake_waiting_hooks', "Icecast's hooks that wait to be stored"),
    intakeHooks: counter(
      'intake_hooks_total',
      "Icecast's hooks with a metaid: stored, refused (wrong token, unknown channel), dropped at a limit, lost with the log away",
      ['result'],
    ),
    intakeRejected: counter('intake_rejected_total', 'Requests refused at a limit', ['limit']),
    intakeForgotten: counter(
      'intake_forgotten_total',
      'Channels and source addresses forgotten because a table of rate limits was full',
      ['table'],
    ),
    intakeFirstHeads: gauge('intake_first_heads', 'Connections that have not sent their first request yet'),
    projectorActive: gauge('projector_active', '1 while this projector folds, 0 while it stands by'),
    projectorEvents: counter('projector_events_total', 'Events folded, by kind', ['kind']),
    projectorValues: counter('projector_values_total', 'Values written to the bucket channel'),
    projectorRewritten: counter(
      'projector_rewritten_total',
      'Channels written again: silent for half the retention, or by a rebuild',
      ['reason'],
    ),
    projectorSkipped: counter('projector_skipped_total', 'Events that were not folded', ['reason']),
    projectorReloads: counter(
      'projector_reloads_total',
      'States dropped and read again after a refused or lost append',
    ),
    projectorLag: gauge('projector_lag_events', 'Events in the log that are not folded yet'),
    edgeSockets: gauge('edge_sockets', 'Open WebSockets'),
    edgeStreams: gauge('edge_streams', 'Open streams of server-sent events'),
    edgeChannels: gauge('edge_channels', 'Channels whose state this edge holds', [], 'max'),
    edgeFollowed: gauge('edge_followed_listeners', 'Listeners followed for their sockets here'),
    edgeChanges: counter('edge_changes_total', 'Changes received from the log'),
    edgeDeliveries: counter('edge_deliveries_total', 'Records sent to sockets, counted once per subscriber'),
    edgePolls: answers('edge_polls_total', 'Polls by status'),
    edgeClosed: counter('edge_closed_total', 'Sockets closed by this edge', ['reason']),
    edgeRejected: counter('edge_rejected_total', 'Requests refused at a limit', ['limit']),
    edgeResumes: counter(
      'edge_resumes_total',
      'Resumes by what they were answered from: memory, log, or with a gap',
      ['from'],
    ),
    edgeLogReads: counter('edge_log_reads_total', 'Reads of the log for resumes, each for all that share it'),
    edgeReplayReads: gauge('edge_replay_reads', 'Reads of the log for resumes that are under way'),
    edgeSkipped: counter(
      'edge_skipped_values_total',
      'Values of an unknown version or that could not be read',
    ),
    historyReading: gauge('history_reading_pages', 'Pages of the history that read the log right now'),
    edgeProcesses: gauge('edge_processes', 'Edge processes that this parent runs (--edges)'),
    edgeProcessExits: counter(
      'edge_process_exits_total',
      'Edge processes that ended unexpectedly and were started again',
    ),
    icecastMounts: gauge('icecast_mounts', 'Icecast mounts by how they fare: waiting, working or failing', [
      'state',
    ]),
    icecastRequests: gauge(
      'icecast_requests',
      'Requests to Icecast servers that are under way or wait for their turn',
    ),
    icecastTitles: counter('icecast_titles_total', 'Attempts to give a mount its title: taken or failed', [
      'result',
    ]),
    icecastSourceChanges: counter(
      'icecast_source_changes_total',
      'Sources found reconnected, so that the title was given again',
    ),
    icecastSkipped: counter(
      'icecast_skipped_values_total',
      'Values of an unknown version or that could not be read',
    ),
    consoleRejected: counter('console_rejected_total', 'Console requests refused at a limit', ['limit']),
    legacySockets: gauge('legacy_sockets', 'Open WebSockets of the old protocol'),
    legacySubscriptions: gauge('legacy_subscriptions', 'Subscriptions of all sockets of the old protocol'),
    legacyFollowed: gauge(
      'legacy_followed_listeners',
      'Listeners followed for subscriptions of the old protocol',
    ),
    legacyDeliveries: counter(
      'legacy_deliveries_total',
      'Records published by the old protocol, counted once per subscriber',
    ),
    legacyRequests: counter('legacy_requests_total', 'Plain requests and refused upgrades by status', [
      'status',
    ]),
    legacyClosed: counter('legacy_closed_total', 'Sockets of the old protocol closed by this process', [
      'reason',
    ]),
    legacyRejected: counter('legacy_rejected_total', 'Requests of the old protocol refused at a limit', [
      'limit',
    ]),
    legacySkipped: counter(
      'legacy_skipped_values_total',
      'Values of an unknown version or that could not be read',
    ),
    connectionsDropped: counter(
      'connections_dropped_total',
      'Connections dropped because their listener had as many as it may',
      ['listener'],
    ),
    logConnected: gauge('log_connected', '1 while connected to NATS', [], 'min'),
    logReconnects: counter('log_reconnects_total', 'Reconnects to NATS'),
  }
}
