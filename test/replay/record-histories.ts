import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { startPostgres, startTemporal } from '../../dev/servers/index.ts';
import { operations } from '../../src/app/operations/operations.ts';
import { startTimedRelay } from '../../src/app/relay/start-relay.ts';
import type { PublishOutcome } from '../../src/brokers/transport.ts';
import type { RelayConfig } from '../../src/config/config.ts';
import { topic } from '../../src/core/topic.ts';
import type { ParkedKeyAnswer } from '../../src/inbox/ports.ts';
import { cancel, reschedule } from '../../src/outbox/change.ts';
import { schedule, unschedule } from '../../src/outbox/schedule.ts';
import { send } from '../../src/outbox/send.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { fromQuery, type Transaction } from '../../src/store/database/transaction.ts';
import { migrate, readMigrations } from '../../src/store/installation/migrate.ts';
import { startParkedKeys } from '../../src/temporal/parked-key/engine.ts';
import { noBulk } from '../support/fixtures/parked-stage.ts';
import { until } from '../support/fixtures/until.ts';

// Writes the histories that `replay.test.ts` replays, from real runs on servers of its own:
// node --import jiti/register test/replay/record-histories.ts
// Histories that are there stay: workflows that began with them may still sleep. To have one anew, delete its file.

const postgres = await startPostgres({ env: process.env, durable: false });
const temporal = await startTemporal({ env: process.env });
const database = openDatabase({ url: postgres.url });
await migrate(database, await readMigrations());
const client = new Client({ connection: await Connection.connect({ address: temporal.address }) });
const commit = <Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> =>
  database.transaction((sql) => work(fromQuery((text, values) => sql.query(text, values))));

let answer = (): PublishOutcome => ({ kind: 'acknowledged', partition: 0, offset: '7' });
let blocked: Promise<void> = Promise.resolve();
const reminders = topic('reminders', z.object({}), { retry: ['1s', '1s'] });
const config: RelayConfig = {
  database: { url: postgres.url },
  temporal: { address: temporal.address },
  topics: [reminders],
  transports: {
    scripted: {
      name: 'scripted',
      async publish({ messages }) {
        await blocked;
        return { outcomes: messages.map(() => answer()) };
      },
      async probe() {},
      async close() {},
    },
  },
};
const timings = {
  laneIdleTimeoutMs: 300,
  reconcileIntervalMs: 1_000,
  archiveIntervalMs: 1_000,
  scheduleCheckIntervalMs: 200,
};
const relay = startTimedRelay(config, {}, timings);
await relay.ready;

const { id: published, workflowId: publishedRun } = await waiting('1s');
await ended(publishedRun);
await record('message-published', publishedRun);
await record('lane-emptied', (await laneOf(published)) ?? '');

const canceled = await waiting('4s');
await started(canceled.workflowId);
await commit((tx) => cancel(tx, reminders, { id: canceled.id }));
await ended(canceled.workflowId);
await record('message-canceled', canceled.workflowId);

const byHand = await waiting('1h');
await started(byHand.workflowId);
await client.workflow.getHandle(byHand.workflowId).cancel();
await ended(byHand.workflowId);
await record('message-canceled-in-ui', byHand.workflowId);

let open = (): void => undefined;
blocked = new Promise((resolve) => (open = resolve));
const tooLate = await waiting('1s');
await until(async () => (await stateOf(tooLate.id)) === 'ready');
const { runId } = await client.workflow.getHandle(tooLate.workflowId).describe();
await client.workflow.getHandle(tooLate.workflowId).cancel();
await until(async () => (await client.workflow.getHandle(tooLate.workflowId).describe()).runId !== runId);
await record('message-canceled-too-late', tooLate.workflowId, runId);
open();
await ended(tooLate.workflowId);
await record('message-continued', tooLate.workflowId);

const later = await waiting('2s');
await started(later.workflowId);
await commit((tx) => reschedule(tx, reminders, { id: later.id }, { after: '5s' }));
await ended(later.workflowId);
await record('message-rescheduled', later.workflowId);

let failures = 1;
answer = () =>
  failures-- > 0
    ? { kind: 'rejected', error: 'not now' }
    : { kind: 'acknowledged', partition: 0, offset: '9' };
const retried = await commit((tx) => send(tx, reminders, {}, { key: 'k' }));
await until(async () => (await stateOf(retried.id)) === 'published');
const retriedRun = `${retried.workflowId.split('/')[0]}/message/${retried.id}`;
await ended(retriedRun);
await record('message-retried', retriedRun);

await commit((tx) => schedule(tx, 'beat', reminders, {}, { every: '1s' }));
for (const type of ['reconcile', 'archive']) await record(type, await completed(type));
await record('scheduled-written', await completed('writeScheduled'));
await commit((tx) => unschedule(tx, 'beat'));

await waiting('1h');
const operated = operations({ database: { url: postgres.url } });
const bulk = await operated.bulk.start(
  { topic: 'reminders', states: ['waiting'] },
  { action: 'cancel' },
  { actor: 'recorder', reason: 'to be recorded' },
);
await operated.close();
if (bulk.id === null) throw new Error('The bulk operation was not started.');
const bulkRun = `${retried.workflowId.split('/')[0]}/bulk/${bulk.id}`;
await until(async () => (await completed('bulkOperation')) === bulkRun);
await record('bulk-done', bulkRun);

// As a consumer's drain answers for a parked key; rows are not needed for that.
const drainAnswers: ParkedKeyAnswer[] = [];
const handlers = startParkedKeys({
  temporal: { address: temporal.address, namespace: 'default' },
  installation: retried.workflowId.split('/')[0] ?? '',
  group: 'recorder',
  drains: { drain: () => Promise.resolve(drainAnswers.shift() ?? { kind: 'drained' }) },
  bulk: noBulk,
  visible: () => true,
  concurrency: 10,
  failed: () => undefined,
});
await record('key-drained', await handled(1_000, []));
await record('key-retried', await handled(1_000, [{ kind: 'waiting', inMs: 2_000 }]));
await record('key-blocked', await handled(0, [{ kind: 'blocked' }]));
await handlers.stop();

await relay.stop();
await client.connection.close();
await database.close();
await temporal.stop();
await postgres.stop();

/** A workflow of the type that has ended well. */
async function completed(type: string): Promise<string> {
  let found: string | undefined;
  await until(async () => {
    const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Completed'`;
    for await (const { workflowId } of client.workflow.list({ query })) found = workflowId;
    return found !== undefined;
  });
  return found ?? '';
}

function waiting(after: '1s' | '2s' | '4s' | '1h') {
  return commit((tx) => send(tx, reminders, {}, { after }));
}

/** The workflow of a parked key whose drains answer these, and then that it is drained, once it has ended. */
async function handled(dueInMs: number, answers: readonly ParkedKeyAnswer[]): Promise<string> {
  const keyId = randomUUID();
  const workflowId = `recorder/parked/${keyId}`;
  drainAnswers.push(...answers);
  const key = { keyId, workflowId, topic: 'reminders', key: null, dueInMs, replace: 'never' as const };
  await handlers.workflows.start(key);
  await ended(workflowId);
  return workflowId;
}

/** Waits until the workflow sleeps. */
async function started(workflowId: string): Promise<void> {
  await until(async () => (await client.workflow.getHandle(workflowId).describe()).historyLength >= 5);
}

async function ended(workflowId: string): Promise<void> {
  await until(async () => (await client.workflow.getHandle(workflowId).describe()).status.name !== 'RUNNING');
}

async function stateOf(id: string): Promise<string | undefined> {
  const [row] = await database.query<{ state: string }>(
    'select state::text as state from outbox.message_view where id = $1',
    [id],
  );
  return row?.state;
}

/** The workflow of the lane of a message, once it has ended. */
async function laneOf(id: string): Promise<string | undefined> {
  const [row] = await database.query<{ workflowId: string }>(
    'select outbox.lane_workflow_id(topic, lane) as "workflowId" from outbox.message where id = $1',
    [id],
  );
  if (row !== undefined) await ended(row.workflowId);
  return row?.workflowId;
}

async function record(name: string, workflowId: string, run?: string): Promise<void> {
  const folder = fileURLToPath(new URL('histories/', import.meta.url));
  if (existsSync(`${folder}${name}.json`)) return;
  await mkdir(folder, { recursive: true });
  const { stdout } = await promisify(execFile)(temporal.cliPath ?? 'temporal', [
    'workflow',
    'show',
    `--address=${temporal.address}`,
    '--output=json',
    `--workflow-id=${workflowId}`,
    ...(run === undefined ? [] : [`--run-id=${run}`]),
  ]);
  // Identities and sticky queues have the pid and host of the recording process; a replay does not read them.
  const text = stdout.trim().replaceAll(/"\d+@[\w.-]+/g, '"worker');
  await writeFile(`${folder}${name}.json`, `${text}\n`);
}
