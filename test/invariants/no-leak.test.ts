// @module-tag apart
import { expect, test } from 'vitest';
import { storeMessages } from '../../src/store/message/write.ts';
import { numbered, openStage, type Stage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';
import { untilDone } from '../support/fixtures/until-done.ts';
import type { RelayProcess } from '../support/processes/relay-process.ts';

const orders = numbered('orders', { lanes: 2 });
const delayed = 10;
/** So large that a leak of messages is distinguished from what a heap keeps anyway. */
const text = 'x'.repeat(8_000);
const perRound = 1_500;
/** Behind the first one, which fills pools and caches that stay as they are. */
const rounds = 2;

/** Messages that go at once, and some that wait in workflows of their own; some of these are canceled. */
async function sendRound(stage: Stage, round: number): Promise<void> {
  await storeMessages(
    stage.database,
    'orders',
    Array.from({ length: perRound }, (_, n) => ({
      key: `k${n % 50}`,
      payload: JSON.stringify({ n, text }),
      ...(n < delayed && { afterMs: 1_000, ref: `${round}-${n}` }),
    })),
  );
  await stage.database.query(
    `select outbox.cancel('orders', ref => $1 || '-' || n) from generate_series(0, 4) n`,
    [String(round)],
  );
  await untilDone(stage.database);
}

/** What others keep for the relay: connections, locks of transactions, and workflows that run. */
async function usedElsewhere(
  stage: Stage,
): Promise<{ connections: number; locks: number; workflows: number }> {
  const [row] = await stage.database.query<{ connections: number; locks: number }>(
    `select (select count(*) from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend')::integer as connections,
       (select count(*) from pg_locks l join pg_database d on d.oid = l.database
         where d.datname = current_database() and pid <> pg_backend_pid() and locktype <> 'advisory')::integer as locks`,
  );
  const running = `ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '${stage.installation}/'`;
  const { count } = await stage.temporal.workflow.count(running);
  return { connections: row?.connections ?? 0, locks: row?.locks ?? 0, workflows: count };
}

/** What is kept once nothing is to be done: connections and workflows end some time after their last use. */
async function quietly(stage: Stage, relay: RelayProcess, upTo: number) {
  let now = await usedElsewhere(stage);
  await until(
    async () => {
      now = await usedElsewhere(stage);
      return now.workflows === 0 && now.locks === 0 && now.connections <= upTo;
    },
    60_000,
    200,
  ).catch(() => undefined);
  return { ...now, ...(await relay.resources()) };
}

test('I16: after a load has ended a relay keeps no memory, connection, lock, timer or workflow of it', {}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const relay = await stage.relayProcess({ timings: { laneIdleTimeoutMs: 200 } });
  await sendRound(stage, 0);
  const first = await quietly(stage, relay, Infinity);
  for (let round = 1; round <= rounds; round += 1) await sendRound(stage, round);
  const last = await quietly(stage, relay, first.connections);

  const { workflows, locks } = last;
  expect({ workflows, locks }).toEqual({ workflows: 0, locks: 0 });
  expect(last.connections).toBeLessThanOrEqual(first.connections);
  // What a request or a rest holds for a moment goes away again.
  const more = async () =>
    Object.entries((await relay.resources()).resources).filter(
      ([kind, count]) => count > (first.resources[kind] ?? 0) + 3,
    );
  await expect.poll(more, { timeout: 60_000 }).toEqual([]);
  // A quarter of what was sent since then.
  const sentBytes = rounds * perRound * text.length;
  expect(last.heapBytes - first.heapBytes).toBeLessThan(sentBytes / 4);
});
