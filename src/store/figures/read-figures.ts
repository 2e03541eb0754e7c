import type { Sql } from '../database/database.ts';
import { readArchiveFacts } from '../doctor/archive.ts';
import { readServerClock } from '../doctor/server.ts';
import { type BreakerStatus, readBreakers } from '../inbox/breakers.ts';
import { countConsumers } from '../inbox/consumers.ts';
import { readGroups } from '../inbox/status.ts';
import { readCertificates } from '../installation/certificates.ts';
import { lagsOf } from '../installation/lags.ts';
import { type RelayStatus, readRelays } from '../installation/relays.ts';
import { serversOf } from '../installation/servers.ts';
import { type LaneStatus, readStatus } from '../lane/status.ts';
import { readReconciliation } from '../verify/reconciliation.ts';
import { readDueTopics } from './due-topics.ts';
import { countedStates, type Figures, type MessageCount, type TopicHold } from './figures.ts';
import { readFiguresNote } from './figures-look.ts';
import {
  readLeavesBehind,
  readOverdueReceipts,
  readStandingGroups,
  readTries,
  readUnreleased,
} from './own-figures.ts';

/** Counting stops here: this is read every few seconds, for as long as a relay runs. */
const countLimit = 10_000;

/** Figures that are older say nothing about now: more than the longest interval. */
const staleMs = 15 * 60_000;

export interface FigureRules {
  /** When finished messages should move to the history. @defaultValue 24 h */
  readonly archiveAfterMs?: number;
}

/** Reads all figures: a dozen statements, each bounded, one after the other on one connection at a time. */
export async function readFigures(
  sql: Sql,
  { archiveAfterMs = 24 * 60 * 60_000 }: FigureRules = {},
): Promise<Figures> {
  const lanes = await readStatus(sql, countLimit);
  const living = (await readRelays(sql)).filter(({ alive }) => alive);
  const [groups, lags] = [await readGroups(sql, countLimit), lagsOf(living)];
  const ages = lanes.flatMap(({ oldestDueMs }) => (oldestDueMs === null ? [] : [oldestDueMs]));
  return {
    oldestDueMs: ages.length === 0 ? null : Math.max(...ages),
    due: await readDueTopics(sql, lanes),
    unreleasedMs: await readUnreleased(sql),
    messages: messagesOf(lanes),
    tries: await readTries(sql, countLimit),
    holds: holdsOf(lanes, await readServerClock(sql)),
    groups,
    lags,
    attended: attendedOf(groups, lags, await countConsumers(sql)),
    pausedAddresses: pausedOf(await readBreakers(sql)),
    standing: await readStandingGroups(sql),
    receiptsOverdue: await readOverdueReceipts(sql, countLimit),
    archive: await readArchive(sql, archiveAfterMs),
    drift: await readDrift(sql),
    servers: await readServers(sql, living),
    certificates: await readCertificates(sql),
    relays: living.length,
    clocks: clocksOf(living),
  };
}

function attendedOf(
  groups: Figures['groups'],
  lags: Figures['lags'],
  consumers: ReadonlyMap<string, number>,
): Figures['attended'] {
  return groups.map(({ group, seenMs }) => {
    const mine = lags.filter((lag) => lag.group === group);
    const unread = mine.reduce((sum, { messages }) => sum + messages, 0);
    return { group, consumers: consumers.get(group) ?? 0, seenMs, unread };
  });
}

/** Each consumer of a group has a breaker of its own. */
function pausedOf(breakers: readonly BreakerStatus[]): Figures['pausedAddresses'] {
  const longest = new Map<string, Figures['pausedAddresses'][number]>();
  for (const { address, error, group, pausedMs } of breakers) {
    const name = JSON.stringify([group, address]);
    if (!longest.has(name)) longest.set(name, { group, address, pausedMs, error });
  }
  return [...longest.values()];
}

function messagesOf(lanes: readonly LaneStatus[]): readonly MessageCount[] {
  const counts = new Map<string, MessageCount>();
  for (const lane of lanes)
    for (const state of countedStates) {
      if (lane[state] === 0) continue;
      const name = `${state} ${lane.topic}`;
      const before = counts.get(name)?.messages ?? 0;
      counts.set(name, { topic: lane.topic, state, messages: before + lane[state] });
    }
  return [...counts.values()];
}

function holdsOf(lanes: readonly LaneStatus[], nowMs: number): readonly TopicHold[] {
  const holds = new Map<string, TopicHold>();
  for (const { topic, hold } of lanes) {
    if (hold === null) continue;
    const heldMs = Math.max(0, nowMs - hold.since.getTime());
    const before = holds.get(topic);
    const longest =
      before !== undefined && before.heldMs >= heldMs
        ? before
        : { topic, heldMs, scope: hold.scope, reason: hold.reason };
    holds.set(topic, { ...longest, lanes: (before?.lanes ?? 0) + 1 });
  }
  return [...holds.values()].toSorted((a, b) => b.heldMs - a.heldMs);
}

async function readArchive(sql: Sql, archiveAfterMs: number): Promise<Figures['archive']> {
  const [late] = await readArchiveFacts(sql, archiveAfterMs);
  const { oldestMs, leaves } = await readLeavesBehind(sql);
  return { behindMs: Math.max(0, late?.lateMs ?? 0, (oldestMs ?? 0) - archiveAfterMs), leaves };
}

async function readDrift(sql: Sql): Promise<Figures['drift']> {
  const last = await readReconciliation(sql);
  if (last === undefined) return null;
  const { at, ended, restarted } = last;
  return { restarted, ended, agoMs: Math.max(0, Date.now() - new Date(at).getTime()) };
}

/** Relays say whether a server answers, not since when: that is counted from one reading to the next. */
async function readServers(sql: Sql, living: Parameters<typeof serversOf>[0]): Promise<Figures['servers']> {
  const noted = await readFiguresNote(sql);
  // While no relay ran, nobody knows.
  const note = noted !== undefined && noted.agoMs < staleMs ? noted : undefined;
  return serversOf(living).map((status) => {
    if (status.error === null) return { ...status, awayMs: null };
    const before = note?.figures.servers.find(
      ({ address, server }) => server === status.server && address === status.address,
    );
    const known = before?.awayMs ?? null;
    return { ...status, awayMs: known === null ? 0 : known + (note?.agoMs ?? 0) };
  });
}

function clocksOf(living: readonly RelayStatus[]): Figures['clocks'] {
  const all = living
    .map(({ clockOffsetMs, host }) => ({ host, aheadMs: clockOffsetMs }))
    .toSorted((a, b) => Math.abs(b.aheadMs) - Math.abs(a.aheadMs));
  return all.filter(({ host }, at) => all.findIndex((one) => one.host === host) === at);
}
