import { setTimeout as delay } from 'node:timers/promises';
import { Client, type WorkflowExecutionInfo, type WorkflowHandle } from '@temporalio/client';
import { connectTemporal } from '../src/brokers/workflow/client/connection.ts';
import { quietRuntime } from '../src/brokers/workflow/client/runtime.ts';
import { type Servers, untilArrived, withContender } from './contenders/arena.ts';

/** As a client fetches it. */
export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

/** What Temporal's cloud would bill, by kind. */
export type Actions = Readonly<Record<ActionKind, number>>;
export const actionKinds = [
  'workflows started',
  'activities started or retried',
  'heartbeats, at most',
  'timers started',
  'signals',
  'search attributes upserted',
  'schedules carried out',
] as const;
export type ActionKind = (typeof actionKinds)[number];

export interface ActionFigures {
  /** Immediate messages, drained at full rate. */
  readonly messages: number;
  /** Workflow runs whose histories were counted: those of lanes, and everything else in the namespace meanwhile. */
  readonly runs: number;
  readonly actions: Actions;
  readonly per1000: number;
}

export interface ActionSizes {
  readonly messages: number;
}

/** Temporal's SDK sends at most one heartbeat in this share of the timeout. */
const heartbeatShare = 0.8;
/** A scheduled start is billed as two more than the start of its workflow. */
const perScheduled = 2;
const settledWithinMs = 90_000;
const lookEveryMs = 500;

/**
 * Counts what Temporal does for a drain at full rate, from the start of the relay until the lanes are quiet and their
 * workflows have ended.
 *
 * The kinds are those of "Temporal Cloud Actions" in Temporal's documentation. Histories have no heartbeats: the most that the
 * SDK can have sent in the time of each activity is counted. Not counted is what happens once for an installation, such as
 * the creation of a schedule.
 */
export async function measureActions(
  servers: Servers,
  node: string,
  { messages }: ActionSizes,
  tell: (line: string) => void,
): Promise<ActionFigures> {
  // Otherwise Temporal's runtime would keep the benchmark running after a SIGTERM.
  quietRuntime();
  const link = await connectTemporal({ address: servers.temporalAddress, namespace: 'default' });
  const client = new Client({ connection: link.connection });
  const entry = { name: 'ours' as const, node, setting: { lanes: 2 } };
  try {
    return await withContender(servers, entry, { noting: false }, async (contender, topic) => {
      await contender.ask('fill', { count: messages });
      const since = new Date();
      await contender.ask('start', null);
      await untilArrived(servers.arrivals, topic, messages);
      const runs = await endedRuns(client, since);
      await contender.stop();
      await servers.arrivals.read(topic, messages);
      const histories = await Promise.all(
        runs.map(({ runId, workflowId }) => client.workflow.getHandle(workflowId, runId).fetchHistory()),
      );
      const actions = sumOf(histories.map(actionsOf));
      const total = Object.values(actions).reduce((sum, count) => sum + count, 0);
      const per1000 = Math.round((total * 1_000_000) / messages) / 1_000;
      tell(
        `${total} actions of Temporal in ${runs.length} runs for ${messages} messages: ${per1000} per 1,000`,
      );
      return { messages, runs: runs.length, actions, per1000 };
    });
  } finally {
    await link.close();
  }
}

/** Everything that the namespace ran since then, once none of it runs any more. */
async function endedRuns(client: Client, since: Date): Promise<readonly WorkflowExecutionInfo[]> {
  const until = performance.now() + settledWithinMs;
  for (;;) {
    const runs: WorkflowExecutionInfo[] = [];
    // Visibility may be a second late: some of the lanes must be there.
    for await (const run of client.workflow.list({ query: `StartTime >= "${since.toISOString()}"` }))
      runs.push(run);
    const lanes = runs.filter(({ type }) => type === 'deliverLane');
    if (lanes.length > 0 && runs.every(({ status }) => status.name !== 'RUNNING')) return runs;
    if (performance.now() > until) throw new Error('Workflows still run long after the drain.');
    await delay(lookEveryMs);
  }
}

function sumOf(all: readonly Actions[]): Actions {
  const entries = actionKinds.map((kind) => [kind, all.reduce((sum, actions) => sum + actions[kind], 0)]);
  return Object.fromEntries(entries) as Record<ActionKind, number>;
}

/** What a run is billed for, as far as its history shows. */
export function actionsOf({ events }: History): Actions {
  const all = events ?? [];
  const count = (of: (event: HistoryEvent) => unknown): number =>
    all.filter((event) => (of(event) ?? null) !== null).length;
  const started = all.flatMap((event) => event.activityTaskStartedEventAttributes ?? []);
  return {
    'workflows started': count((event) => event.workflowExecutionStartedEventAttributes),
    // Of an activity that was retried, only the last try is in the history, with its number.
    'activities started or retried': started.reduce((sum, { attempt }) => sum + (attempt ?? 1), 0),
    'heartbeats, at most': all.reduce((sum, event) => sum + heartbeatsBefore(event, all), 0),
    'timers started': count((event) => event.timerStartedEventAttributes),
    signals: count((event) => event.workflowExecutionSignaledEventAttributes),
    'search attributes upserted': count((event) => event.upsertWorkflowSearchAttributesEventAttributes),
    'schedules carried out': perScheduled * count(scheduledBy),
  };
}

function scheduledBy({ workflowExecutionStartedEventAttributes: started }: HistoryEvent): unknown {
  return started?.searchAttributes?.indexedFields?.['TemporalScheduledById'];
}

/** Of the activity that ended with this event. */
function heartbeatsBefore(ended: HistoryEvent, all: readonly HistoryEvent[]): number {
  const end =
    ended.activityTaskCompletedEventAttributes ??
    ended.activityTaskFailedEventAttributes ??
    ended.activityTaskCanceledEventAttributes ??
    ended.activityTaskTimedOutEventAttributes;
  if (end === null || end === undefined) return 0;
  const scheduled = all.find(({ eventId }) => String(eventId) === String(end.scheduledEventId));
  const timeoutMs = milliseconds(scheduled?.activityTaskScheduledEventAttributes?.heartbeatTimeout);
  if (timeoutMs === 0) return 0;
  // From the schedule: the time of earlier tries is in between.
  const tookMs = milliseconds(ended.eventTime) - milliseconds(scheduled?.eventTime);
  return 1 + Math.floor(tookMs / (heartbeatShare * timeoutMs));
}

type ProtoTime = HistoryEvent['eventTime'];

function milliseconds(time: ProtoTime): number {
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}
