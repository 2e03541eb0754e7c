import { randomUUID } from 'node:crypto';
import { operationTable } from '../../../src/api/table/table.ts';
import { storeSchedule } from '../../../src/store/schedule/write.ts';
import { failAll } from '../../support/fixtures/operator.ts';
import type { ApiBench } from './api-bench.ts';

/** What there is of the topic "orders", for requests that name something. */
export interface World {
  readonly waiting: string;
  readonly failed: string;
  readonly group: string;
  readonly kept: string;
  readonly bulk: string;
}

/** Fills the database: nothing of it is of the topic "refunds". */
export async function fill({ lane, post }: ApiBench): Promise<World> {
  await failAll(lane, ['failed']);
  const waiting = await lane.send('waiting', {
    afterMs: 3_600_000,
    ref: 'due',
    headers: { tenant: 'hidden' },
  });
  const group = 'billing';
  const kept = `kept-${randomUUID()}`;
  await lane.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, body, reason, last_error, attempts, sent_at)
     values ($1, $2, 'failed', 'orders', 'orders', 0, '0', '{"key":null,"headers":{"ce_id":"1"}}', '{}', 'error', 'Error: no', 1, now())`,
    [group, kept],
  );
  await storeSchedule(lane.database, {
    name: 'nightly',
    topic: 'orders',
    payload: '1',
    key: null,
    ref: null,
    headers: {},
    cron: null,
    everyMs: 3_600_000,
    timeZone: 'UTC',
    overlap: 'skip',
    expiresAfterMs: null,
    catchUpMs: 60_000,
  });
  const started = await post('/bulk', {
    body: { filter: { topic: 'orders', states: ['failed'] }, task: { action: 'retry' }, reason: 'a sample' },
  });
  return { waiting, failed: lane.idOf('failed'), group, kept, bulk: String(started.body['id']) };
}

const ending = [/adopt|discard|cancel|remove/, /expunge/];
const rank = ({ name }: { readonly name: string }): number => ending.findIndex((names) => names.test(name));
/** All operations, so that what one ends is not needed by a later one. */
export const inOrder = [...operationTable].toSorted((a, b) => rank(a) - rank(b));

export interface Sample {
  readonly path: string;
  readonly body?: object;
}

/** One good request per operation, by its name. Those that name nothing of a topic are the same for everybody. */
export function samplesOf({ bulk, failed, group, kept, waiting }: World): Readonly<Record<string, Sample>> {
  const named = `/groups/${group}/kept/${kept}`;
  const keptIds = { ids: [kept] };
  const start = { reason: 'a test', dryRun: true };
  return {
    showMe: { path: '/me' },
    showStatus: { path: '/status' },
    pause: { path: '/pause', body: { topic: 'orders', timeout: 0 } },
    resume: { path: '/resume', body: { topic: 'orders' } },
    changeLanes: { path: '/topics/orders/lanes', body: { lanes: 1, timeout: 0 } },
    changePartitions: { path: '/topics/orders/partitions', body: { partitions: 1, timeout: 0 } },
    verify: { path: '/verify', body: {} },
    adopt: { path: '/adopt', body: {} },
    listMessages: { path: '/messages' },
    showMessage: { path: `/messages/${waiting}` },
    showMessageLog: { path: `/messages/${waiting}/log` },
    revealMessage: { path: `/messages/${waiting}/reveal`, body: {} },
    rescheduleMessages: { path: '/messages/reschedule', body: { ids: [waiting], after: '2h' } },
    rescheduleMessage: { path: `/messages/${waiting}/reschedule`, body: { after: '3h' } },
    cancelMessages: { path: '/messages/cancel', body: { topic: 'orders', ref: 'due' } },
    cancelMessage: { path: `/messages/${waiting}/cancel`, body: {} },
    withdrawMessages: { path: '/messages/withdraw', body: { ids: [waiting], timeout: 0 } },
    withdrawMessage: { path: `/messages/${waiting}/withdraw`, body: { timeout: 0 } },
    editMessage: { path: `/messages/${failed}/edit`, body: { payload: 1, dryRun: true } },
    retryMessages: { path: '/messages/retry', body: { ids: [failed], dryRun: true } },
    retryMessage: { path: `/messages/${failed}/retry`, body: { dryRun: true } },
    discardMessages: { path: '/messages/discard', body: { ids: [failed], dryRun: true } },
    discardMessage: { path: `/messages/${failed}/discard`, body: {} },
    // Of messages that requests above have ended.
    expungeMessages: { path: '/messages/expunge', body: { ids: [waiting] } },
    expungeMessage: { path: `/messages/${waiting}/expunge`, body: {} },
    listBulk: { path: '/bulk' },
    listKeptBulk: { path: '/kept-bulk' },
    showBulk: { path: `/bulk/${bulk}` },
    pauseBulk: { path: `/bulk/${bulk}/pause`, body: {} },
    resumeBulk: { path: `/bulk/${bulk}/resume`, body: {} },
    abortBulk: { path: `/bulk/${bulk}/abort`, body: {} },
    startBulk: {
      path: '/bulk',
      body: { filter: { topic: 'orders', states: ['waiting'] }, task: { action: 'cancel' }, ...start },
    },
    startKeptBulk: {
      path: '/kept-bulk',
      body: { filter: { group, topic: 'orders' }, task: { action: 'retry' }, ...start },
    },
    listKept: { path: '/kept' },
    showKept: { path: named },
    revealKept: { path: `${named}/reveal`, body: {} },
    editKept: { path: `${named}/edit`, body: { payload: 1, dryRun: true } },
    retryKept: { path: `/groups/${group}/kept/retry`, body: { ...keptIds, dryRun: true } },
    discardKept: { path: `/groups/${group}/kept/discard`, body: keptIds },
    expungeKept: { path: `/groups/${group}/kept/expunge`, body: keptIds },
    listSchedules: { path: '/schedules' },
    pauseSchedule: { path: '/schedules/nightly/pause', body: {} },
    resumeSchedule: { path: '/schedules/nightly/resume', body: {} },
    runSchedule: { path: '/schedules/nightly/run', body: {} },
    removeSchedule: { path: '/schedules/nightly/remove', body: {} },
    listAlerts: { path: '/alerts' },
    silenceAlert: { path: '/alerts/lag/silence', body: { for: '1h' } },
  };
}
