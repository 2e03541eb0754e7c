import {
  counted,
  type Diagnosis,
  type DoctorCheck,
  fine,
  firstOf,
  problem,
  warning,
} from '../../core/diagnosis.ts';
import type { ArchiveFacts, LeafFacts } from '../../store/doctor/archive.ts';
import type { ChangeFacts, LaneFacts, MonthFacts } from '../../store/doctor/lanes.ts';
import { mending } from '../../store/doctor/mending.ts';
import type { UndeliveredFacts } from '../../store/doctor/undelivered.ts';
import type { RelayStatus } from '../../store/installation/relays.ts';
import type { Twin } from '../../store/installation/twin.ts';
import type { TopicPolicyRow } from '../../store/lane/topic-policies.ts';
import type { TopicPolicy } from '../../store/lane/topics.ts';
import { completingCommand } from '../completing-command.ts';
import type { LaneLock } from '../delivery/lane-locks.ts';
import { type SeenFacts, seenChecks } from './seen-checks.ts';
import { ageInWords } from './vacuum-checks.ts';

/** Relays, lanes and topics as the database knows them, and the topics of the configuration. */
export interface DoctorDelivery extends SeenFacts {
  readonly relays: readonly RelayStatus[];
  readonly lanes: readonly LaneFacts[];
  readonly locks: readonly LaneLock[];
  readonly undelivered: readonly UndeliveredFacts[];
  readonly changes: readonly ChangeFacts[];
  readonly stored: readonly TopicPolicyRow[];
  readonly configured: readonly TopicPolicy[];
  readonly twin: Twin | null;
  readonly months: readonly MonthFacts[];
  readonly unarchived: readonly ArchiveFacts[];
  readonly leaves: readonly LeafFacts[];
  /** How long a month of the history is kept after its end. */
  readonly historyMs: number;
}

/** A change of lanes takes seconds, unless a transaction keeps it waiting. */
const changeMs = 60_000;
/** Relays drop a month within minutes; one that is in use, at the next round. */
const dropMs = 24 * 3_600_000;
const mebibyte = 1024 * 1024;

/** A relay takes a lane with work within seconds. */
const undeliveredMs = 60_000;

/** Rounds of the archive begin every five minutes, and some messages may have been changed meanwhile. */
const archiveLateMs = 3_600_000;

/** Who delivers, and what keeps it from delivering. */
export const deliveryChecks: readonly DoctorCheck<DoctorDelivery>[] = [
  {
    check: 'relays',
    judge({ relays }) {
      const living = relays.filter(({ alive }) => alive);
      return living.length === 0
        ? warning('No relay is running: nothing is delivered.', 'temporal-outbox relay')
        : fine(
            `${counted(living.length, 'relay')} running: ${firstOf(living.map(({ host, pid }) => `${host} (pid ${pid})`))}.`,
          );
    },
  },
  {
    check: 'one database',
    judge: ({ twin }) =>
      twin === null
        ? fine('No other running database of this installation was seen.')
        : problem(
            `Another running database of this installation, ${twin.place}, was seen ${twin.seenAt.toISOString()}: both deliver the same messages.`,
            'Stop the relays of the copy, and adopt it: temporal-outbox migrate --adopt --new-installation',
          ),
  },
  {
    check: 'topics announced',
    judge({ configured, stored }) {
      const missing = configured.filter(({ name }) => !stored.some((row) => row.name === name));
      if (missing.length > 0)
        return warning(
          `No relay has announced ${firstOf(missing.map(({ name }) => name))}: senders use the defaults, and nothing delivers it.`,
          'temporal-outbox migrate --topics',
        );
      return judgePolicies(configured, stored);
    },
  },
  {
    check: 'lane leases',
    judge({ lanes, relays }) {
      const expired = lanes.filter((lane) => lane.expired).map(nameOf);
      if (expired.length === 0) return fine('No lane waits for a relay that is gone.');
      const [verb, pronoun] = expired.length === 1 ? ['was', 'it'] : ['were', 'them'];
      const said = `${firstOf(expired)} ${verb} left by a relay that died without freeing ${pronoun}`;
      return relays.some(({ alive }) => alive)
        ? warning(
            `${said}, and no other one has taken over yet.`,
            'temporal-outbox status, in ten seconds again',
          )
        : problem(`${said}, and none is running.`, 'temporal-outbox relay');
    },
  },
  { check: 'undelivered', judge: judgeUndelivered },
  {
    check: 'lane locks',
    judge({ locks: [lock] }) {
      if (lock === undefined) return fine('No transaction keeps lanes locked.');
      const which = lock.all ? 'All lanes are' : `${firstOf(lock.lanes.map(nameOf)) || 'Lanes'} locked`;
      return problem(
        `${which}${lock.all ? ' locked' : ''} by process ${lock.pid} of the server, in a transaction open for ${Math.round(lock.openMs / 1_000)} s: they wait.`,
        mending.end(lock.pid),
      );
    },
  },
  {
    check: 'holds',
    judge({ lanes }) {
      const waiting = lanes.flatMap((lane) =>
        lane.hold === null ? [] : [{ name: nameOf(lane), ...lane.hold }],
      );
      const [first] = waiting;
      if (first === undefined) return fine('No lane waits for its topic or transport.');
      return warning(
        `${firstOf(waiting.map(({ name }) => name))} wait${waiting.length === 1 ? 's' : ''} for the ${first.scope === 'settle' ? 'database' : first.scope}: ${first.reason}`,
        'Restore it; lanes go on by themselves within a second.',
      );
    },
  },
  {
    check: 'changes of lanes',
    judge({ changes }) {
      const open = changes.find(({ openMs }) => openMs >= changeMs);
      if (open === undefined) return undefined;
      return warning(
        `A change of the ${open.kind} of ${open.topic} to ${open.wanted} is not complete; until then the topic is paused.`,
        completingCommand(open),
      );
    },
  },
  {
    check: 'archive',
    judge({ unarchived }) {
      const late = unarchived.filter(({ lateMs }) => lateMs > archiveLateMs);
      if (late.length === 0) return fine('No lane has old messages in the live table.');
      const hours = Math.floor(Math.max(...late.map(({ lateMs }) => lateMs)) / 3_600_000);
      return warning(
        `The archive is ${counted(hours, 'hour')} behind with ${firstOf(late.map(nameOf))}: the live table grows.`,
        'temporal-outbox relay; if it runs, more is sent than the archive moves: see docs/performance.md',
      );
    },
  },
  {
    check: 'log',
    judge({ leaves }) {
      const late = leaves.find(({ closedMs }) => closedMs > archiveLateMs);
      if (late === undefined) return fine('Claims read no leaf of the log that was closed long ago.');
      const hours = counted(Math.floor(late.closedMs / 3_600_000), 'hour');
      const about = `Claims read ${late.name}, a leaf of the log that was closed ${hours} ago`;
      if (late.open > 0)
        return warning(
          `${about}: ${counted(late.open, 'transaction')} from before then may still write to it.`,
          'end them: the check "open transactions" names them',
        );
      if (late.behind !== null)
        return warning(
          `${about}: the lane ${late.behind} has messages there that are not published.`,
          'temporal-outbox status',
        );
      return warning(`${about}, though nothing needs it any more.`, 'temporal-outbox relay');
    },
  },
  {
    check: 'history',
    judge({ historyMs, months }) {
      const late = months.filter(({ endedMs }) => endedMs > historyMs + dropMs);
      const bytes = months.reduce((sum, month) => sum + month.bytes, 0);
      const size = `${Math.ceil(bytes / mebibyte)} MiB`;
      if (late.length === 0)
        return fine(
          months.length === 0 ? 'Nothing is archived yet.' : `${counted(months.length, 'month')}, ${size}.`,
        );
      return warning(
        `${firstOf(late.map(({ name }) => name))} should have been dropped; the history takes ${size}.`,
        `temporal-outbox relay; or, if a query uses it forever: ${mending.dropMonth(late[0]?.name ?? '')}`,
      );
    },
  },
  ...seenChecks,
];

function nameOf({ topic, lane }: { readonly topic: string; readonly lane: number }): string {
  return `${topic}/${lane}`;
}

/** Without a relay, and of locked lanes, other checks say why. */
function judgeUndelivered({ locks, relays, undelivered }: DoctorDelivery): Diagnosis {
  const unannounced = undelivered.filter(({ lane }) => lane === null);
  const [first] = unannounced;
  if (first !== undefined)
    return warning(
      `No relay has announced ${firstOf(unannounced.map(({ topic }) => topic))}, of which a message has been due for ${ageInWords(first.oldestDueMs)}: nothing delivers it.`,
      `Add it to \`topics\`, or withdraw its messages: temporal-outbox list --topic ${first.topic}`,
    );
  const explained = locks.length > 0 || !relays.some(({ alive }) => alive);
  const late = undelivered.flatMap(({ lane, oldestDueMs, topic }) =>
    explained || lane === null || oldestDueMs < undeliveredMs ? [] : [{ topic, lane, oldestDueMs }],
  );
  const [longest] = late;
  if (longest === undefined) return fine('No due message is left without a relay.');
  return warning(
    `No relay drains ${firstOf(late.map(nameOf))}, of which a message has been due for ${ageInWords(longest.oldestDueMs)}.`,
    `Add ${longest.topic} to \`topics\` of the relays; if it is there: temporal-outbox status`,
  );
}

function rateInWords(rate: TopicPolicy['rate']): string {
  return rate === null ? 'no rate' : `a rate of ${rate.messages} in ${rate.perMs} ms of the ${rate.of}`;
}

function judgePolicies(configured: readonly TopicPolicy[], stored: readonly TopicPolicyRow[]) {
  for (const topic of configured) {
    const row = stored.find(({ name }) => name === topic.name);
    if (row === undefined) continue;
    if (row.lanes !== topic.lanes)
      return warning(
        `The configuration gives ${topic.name} ${counted(topic.lanes, 'lane')}, the database has ${row.lanes}, which count.`,
        `temporal-outbox lanes ${topic.name} ${topic.lanes}`,
      );
    const other = (
      ['address', 'transport', 'timer', 'exhausted', 'payloadLimitBytes', 'delayLimitMs'] as const
    ).find((name) => row[name] !== topic[name]);
    if (
      row.rate?.messages !== topic.rate?.messages ||
      row.rate?.perMs !== topic.rate?.perMs ||
      row.rate?.of !== topic.rate?.of
    )
      return warning(
        `The configuration gives ${topic.name} ${rateInWords(topic.rate)}, the database ${rateInWords(row.rate)}, which counts.`,
        'temporal-outbox migrate --topics',
      );
    if (other !== undefined)
      return warning(
        `The configuration differs from what senders use: ${other} of ${topic.name} is ${topic[other]} here and ${row[other]} in the database.`,
        'temporal-outbox migrate --topics',
      );
  }
  return fine(`The database knows ${counted(configured.length, 'topic')} of the configuration.`);
}
