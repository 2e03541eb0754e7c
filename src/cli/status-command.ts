import ms from 'ms';
import { addressOfDatabase } from '../core/database-address.ts';
import type {
  GroupStatus,
  LaneStatus,
  Reconciliation,
  ServerStatus,
  Status,
  TopicPolicyRow,
} from '../operations/delivery/status.ts';
import { type JudgedCondition, readCondition } from '../operations/delivery/status-conditions.ts';
import { age } from './age.ts';
import { breakerTable } from './breaker-table.ts';
import { consumerTable, unattendedLines } from './consumer-table.ts';
import { laneLockTable, lockOf } from './lane-lock-table.ts';
import { withOperations } from './operator-flags.ts';
import { exitCodes, type Output } from './output.ts';
import { clip, printable } from './printable.ts';
import { goneInWords, runningInWords } from './processes-in-words.ts';
import type { CommonFlags } from './register.ts';
import { table } from './table.ts';

const noRelay = 'waits: no relay runs';
const heading = ['TOPIC', 'LANE', 'OLDEST', 'READY', 'BLOCKED', 'RETRY', 'WAIT', 'FAILED', 'STATE'];

export interface StatusFlags extends CommonFlags {
  readonly failIf?: readonly string[];
  readonly settings?: boolean;
}

/**
 * Shows which servers are reachable, and the state of every lane, the one with the oldest due message first; above them whether
 * the given conditions hold. Exit code 1 if one does.
 */
export async function statusCommand(flags: StatusFlags, output: Output): Promise<number> {
  // First: a misspelt condition must not look like a server that is away.
  const conditions = (flags.failIf ?? []).map(readCondition);
  const { answer, url } = await withOperations(flags, async (at, address) => ({
    answer: await at.status(),
    url: address,
  }));
  const { oldestDueMs, lanes, laneLocks, breakers, topics, settings, reconciliation, groups, lags, twin } =
    answer;
  const judged = conditions.map((condition) => condition.judge(answer));
  const failed = judged.filter(({ holds }) => holds);
  if (judged.length > 0) output.line(`${verdict(judged, failed)}\n`);
  if (twin !== null)
    output.line(
      `Relays also deliver for this installation from another running database: ${twin.place} (${twin.seenAt.toISOString()}).`,
    );
  for (const [name, text] of reachable(url, answer)) output.line(`${name.padEnd(nameWidth)}${text}`);
  output.line(
    `${'Oldest due'.padEnd(nameWidth)}${oldestDueMs === null ? 'nothing is due' : age(oldestDueMs)}`,
  );
  if (lanes.length > 0)
    output.line(
      `\n${table(
        heading,
        lanes.map((lane) => row(lane, answer)),
      )}`,
    );
  if (laneLocks.length > 0) output.line(`\n${laneLockTable(laneLocks)}`);
  if (groups.length > 0)
    output.line(
      `\n${table(
        groupsHeading,
        groups.map((group) => groupRow(group, lags)),
      )}`,
    );
  const unattended = unattendedLines(answer);
  if (unattended.length > 0) output.line(`\n${unattended.join('\n')}`);
  if (answer.consumers.length > 0) output.line(`\n${consumerTable(answer.consumers)}`);
  if (breakers.length > 0) output.line(`\n${breakerTable(breakers)}`);
  if (reconciliation !== null) output.line(`\n${lastComparison(reconciliation)}`);
  if (flags.settings === true) tellSettings({ settings, topics }, output);
  output.value({ ok: failed.length === 0, ...(judged.length > 0 && { conditions: judged }), ...answer });
  return failed.length === 0 ? exitCodes.ok : exitCodes.failed;
}

/** One line, because monitoring systems show the first one: what holds, else all, with the figures. */
function verdict(all: readonly JudgedCondition[], failed: readonly JudgedCondition[]): string {
  const told = (some: readonly JudgedCondition[]): string =>
    some.map(({ condition, ...of }) => `${condition} (it is ${figureInWords(of)})`).join('; ');
  return failed.length > 0 ? `FAILED: ${told(failed)}` : `OK, none holds: ${told(all)}`;
}

function figureInWords({ figure, unit }: Pick<JudgedCondition, 'figure' | 'unit'>): string {
  if (figure === null) return 'not known';
  return unit === 'duration' ? age(figure) : String(figure);
}

const nameWidth = 12;

/** The lines about servers and relays. */
function reachable(url: string, { relays, servers }: Status): readonly (readonly [string, string])[] {
  const { address, database } = addressOfDatabase(url);
  const living = relays.filter(({ alive }) => alive);
  const gone = goneInWords('relay', relays);
  return [
    ['PostgreSQL', `answers at ${address}, database ${database}`],
    ['Relays', living.length === 0 ? 'none is running: nothing is delivered' : runningInWords(living)],
    ...(gone === undefined ? [] : [['', gone] as const]),
    ...clocksInWords(living).map((line) => ['', line] as const),
    ...(living.length === 0 ? [['Temporal', 'unknown: no relay runs'] as const] : []),
    ...servers.flatMap((server) => [
      [clip(server.server, nameWidth - 1), serverInWords(server)] as const,
      ...(server.server === 'Temporal' && server.error !== null ? [['', withoutTemporal] as const] : []),
    ]),
  ];
}

/** Clocks that differ less do no harm. */
const clockToleranceMs = 2_000;

function clocksInWords(living: Status['relays']): readonly string[] {
  return living
    .filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > clockToleranceMs)
    .map(({ clockOffsetMs, host }) => {
      const by = `${age(Math.abs(clockOffsetMs))} ${clockOffsetMs > 0 ? 'ahead of' : 'behind'}`;
      return `Clock of ${clip(host, 24)}: ${by} the database's`;
    });
}

/** What an outage of it means: less than one fears. */
const withoutTemporal = 'Relays deliver without it; archive and bulk operations wait.';

function serverInWords({ address, relays, answering, error, lacks }: ServerStatus): string {
  const at = address === '' ? '' : ` at ${clip(address, 40)}`;
  if (error === null) return `answers${at}${lacks === null ? '' : `. ${printable(lacks)}`}`;
  const whom = answering === 0 ? '' : ` by ${relays - answering} of ${relays} relays`;
  return `cannot be used${whom}${at}: ${printable(error)}`;
}

function lastComparison({ at, rows, workflows, restarted, ended }: Reconciliation): string {
  return `Rows and workflows, compared ${at}: ${rows} waiting messages, ${workflows} workflows; ${restarted} restarted, ${ended} ended.`;
}

const groupsHeading = [
  'CONSUMER GROUP',
  'PARKED',
  'SINCE',
  'KEYS',
  'BLOCKED',
  'FAILED',
  'SINCE',
  'WINDOW',
  'SEEN',
  'LAG',
];

function groupRow(group: GroupStatus, lags: Status['lags']): string[] {
  const since = (lengthMs: number | null): string => (lengthMs === null ? '-' : age(lengthMs));
  return [
    group.group,
    String(group.parked),
    since(group.oldestParkedMs),
    String(group.parkedKeys),
    String(group.blockedKeys),
    String(group.failed),
    since(group.oldestFailedMs),
    windowOf(group),
    since(group.seenMs),
    lagOf(group, lags),
  ];
}

/** Lag over all topics; `-` if no relay could read it. */
function lagOf({ group }: GroupStatus, lags: Status['lags']): string {
  const mine = lags.filter((lag) => lag.group === group);
  return mine.length === 0 ? '-' : String(mine.reduce((sum, { messages }) => sum + messages, 0));
}

function windowOf({ seenMs, windowMs }: GroupStatus): string {
  if (seenMs === null) return '-';
  return windowMs === null ? 'forever' : ms(windowMs);
}

/** What only a change of the configuration changes. */
function tellSettings({ settings, topics }: Pick<Status, 'settings' | 'topics'>, output: Output): void {
  if (topics.length > 0) output.line(`\n${table(limitsHeading, topics.map(limitsRow))}`);
  const last = settings.map(({ name, value }) => [name, value]);
  if (last.length > 0) output.line(`\n${table(['SETTING OF THE LAST RELAY', 'VALUE'], last)}`);
}

const limitsHeading = ['TOPIC', 'TRANSPORT', 'RETRY', 'HORIZON', 'DELAY', 'PAYLOAD', 'RATE', 'CONFIRMED BY'];

function limitsRow(topic: TopicPolicyRow): string[] {
  return [
    topic.name,
    topic.transport,
    topic.retryMs.map((delay) => ms(delay)).join(' '),
    ms(topic.horizonMs),
    ms(topic.delayLimitMs),
    `${Math.round(topic.payloadLimitBytes / 1024)} KiB`,
    topic.rate === null ? '-' : `${topic.rate.messages} per ${ms(topic.rate.perMs)}`,
    topic.confirmGroup ?? '-',
  ];
}

function row(lane: LaneStatus, answer: Status): string[] {
  return [
    lane.topic,
    lane.lane === null ? '-' : String(lane.lane),
    lane.oldestDueMs === null ? '-' : age(lane.oldestDueMs),
    String(lane.ready),
    String(lane.blocked),
    String(lane.retrying),
    String(lane.waiting),
    String(lane.failed),
    stateOf(lane, answer),
  ];
}

function stateOf(lane: LaneStatus, { laneLocks, relays }: Status): string {
  const unattended = !lane.owned && lane.hasWork && !relays.some(({ alive }) => alive);
  if (lane.lane === null) return unattended ? noRelay : 'no relay delivers this topic: add it to `topics`';
  const lock = lockOf(lane, laneLocks);
  if (lock !== undefined) return `${lane.paused ? 'paused, ' : ''}locked by pid ${lock.pid}`;
  if (lane.paused) return lane.owned ? 'pausing' : 'paused';
  // Before a hold: nobody asks the broker any more.
  if (unattended) return noRelay;
  if (lane.hold !== null)
    return `on hold (${lane.hold.scope}) since ${lane.hold.since.toISOString()}: ${lane.hold.reason}`;
  if (lane.owned && lane.rateWaitMs !== null)
    return `waits ${age(lane.rateWaitMs)} for the rate of its topic`;
  // Also if a relay owns it: it looks there for what comes next.
  if (!lane.hasWork) return lane.blocked === 0 ? 'quiet' : 'its blocked messages wait for their keys';
  return lane.owned ? 'draining' : 'waits for a relay';
}
