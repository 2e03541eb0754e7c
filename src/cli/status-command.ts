import ms from 'ms';
import {
  type GroupStatus,
  type LaneStatus,
  type Reconciliation,
  status,
  type TopicPolicyRow,
} from '../operations/status.ts';
import { exitCodes, type Output, table } from './output.ts';
import { clip } from './printable.ts';

const heading = ['TOPIC', 'LANE', 'OLDEST DUE', 'READY', 'HELD', 'RETRYING', 'WAITING', 'FAILED', 'STATE'];

/** Shows how every lane stands, the one with the oldest due message first. */
export async function statusCommand(url: string, output: Output): Promise<number> {
  const { oldestDueMs, lanes, topics, settings, reconciliation, twin, groups } = await status(url);
  if (twin !== null)
    output.line(
      `Relays deliver for this installation from another living database as well: ${twin.place} (${twin.seenAt}).`,
    );
  output.line(oldestDueMs === null ? 'Nothing is due.' : `Oldest due message: ${age(oldestDueMs)}`);
  output.line(table(heading, lanes.map(row)));
  if (reconciliation !== null) output.line(`\n${lastComparison(reconciliation)}`);
  if (groups.length > 0) output.line(`\n${table(groupsHeading, groups.map(groupRow))}`);
  if (topics.length > 0) output.line(`\n${table(limitsHeading, topics.map(limitsRow))}`);
  const last = settings.map(({ name, value }) => [name, value]);
  if (last.length > 0) output.line(`\n${table(['SETTING OF THE LAST RELAY', 'VALUE'], last)}`);
  output.value({ ok: true, oldestDueMs, lanes, topics, settings, reconciliation, twin, groups });
  return exitCodes.ok;
}

function lastComparison({ at, rows, workflows, restarted, ended }: Reconciliation): string {
  return `Rows and workflows, compared ${at}: ${rows} waiting messages, ${workflows} workflows; ${restarted} started again, ${ended} ended.`;
}

const groupsHeading = [
  'CONSUMER GROUP',
  'PARKED',
  'SINCE',
  'KEYS',
  'HELD',
  'FAILED',
  'SINCE',
  'WINDOW',
  'SEEN',
];

function groupRow(group: GroupStatus): string[] {
  const since = (lengthMs: number | null): string => (lengthMs === null ? '-' : age(lengthMs));
  return [
    clip(group.group, 24),
    String(group.parked),
    since(group.oldestParkedMs),
    String(group.parkedKeys),
    String(group.heldKeys),
    String(group.failed),
    since(group.oldestFailedMs),
    windowOf(group),
    since(group.seenMs),
  ];
}

function windowOf({ seenMs, windowMs }: GroupStatus): string {
  if (seenMs === null) return '-';
  return windowMs === null ? 'for ever' : ms(windowMs);
}

const limitsHeading = ['TOPIC', 'TRANSPORT', 'RETRY', 'HORIZON', 'DELAY', 'PAYLOAD', 'CONFIRMED BY'];

function limitsRow(topic: TopicPolicyRow): string[] {
  return [
    topic.name,
    topic.transport,
    topic.retryMs.map((delay) => ms(delay)).join(' '),
    ms(topic.horizonMs),
    ms(topic.delayLimitMs),
    `${Math.round(topic.payloadLimitBytes / 1024)} KiB`,
    topic.confirmGroup ?? '-',
  ];
}

function row(lane: LaneStatus): string[] {
  return [
    lane.topic,
    lane.lane === null ? '-' : String(lane.lane),
    lane.oldestDueMs === null ? '-' : age(lane.oldestDueMs),
    String(lane.ready),
    String(lane.held),
    String(lane.retrying),
    String(lane.waiting),
    String(lane.failed),
    stateOf(lane),
  ];
}

function stateOf(lane: LaneStatus): string {
  if (lane.lane === null) return 'no relay knows this topic';
  if (lane.paused) return lane.owned ? 'pausing' : 'paused';
  if (lane.hold !== null) return `on hold (${lane.hold.scope}) since ${lane.hold.since}: ${lane.hold.reason}`;
  return lane.owned ? 'draining' : 'quiet';
}

function age(ageMs: number): string {
  if (ageMs < 1_000) return `${Math.round(ageMs)} ms`;
  if (ageMs < 120_000) return `${(ageMs / 1_000).toFixed(1)} s`;
  if (ageMs < 7_200_000) return `${(ageMs / 60_000).toFixed(1)} min`;
  return `${(ageMs / 3_600_000).toFixed(1)} h`;
}
