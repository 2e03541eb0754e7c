// @module-tag apart
import { expect, test } from 'vitest';
import { createRelayBulkRunner } from '../../src/relay/bulk.ts';
import { expectAuditedOnce, operationsAt, storeMany } from '../support/fixtures/bulk-stage.ts';
import { untilLockWaits } from '../support/fixtures/lock-waits.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { ada } from '../support/fixtures/operator.ts';
import { numbered, openStage, type Stage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const hourMs = 60 * 60_000;

/** Due times by message, in microseconds. */
async function dueTimes(stage: Stage): Promise<ReadonlyMap<string, bigint>> {
  const rows = await stage.database.query<{ id: string; due: string }>(
    'select id, (extract(epoch from due_at) * 1000000)::bigint::text as due from outbox.message',
  );
  return new Map(rows.map(({ id, due }) => [id, BigInt(due)]));
}

test.concurrent('I14 F01 a shift of 900 due times continues when relays are killed and moves each exactly once', {
  tags: ['actions-audited'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const operator = operationsAt(stage, context);
  const ids = await storeMany(stage, 'orders', 900, 30 * 24 * hourMs);
  const before = await dueTimes(stage);
  const { id: started } = await operator.bulk.start(
    { states: ['waiting'] },
    { action: 'reschedule', shift: '1 hour' },
    { ...ada, ratePerSecond: 150 },
  );
  const id = started ?? '';
  const answered = async (): Promise<number> => (await operator.bulk.show(id)).answered;

  // One dies after the commit of its second page, whose result the workflow does not have.
  const first = await stage.relayProcess({
    crash: { point: 'bulk:page-committed', pass: 2, signal: 'SIGKILL' },
  });
  await first.exited;
  expect(await answered()).toBe(300);
  // One dies wherever it is. Somebody has the last message in hand, so that it cannot be through by then.
  const holder = await openTransaction(stage.url);
  await holder.query('select from outbox.message where id = $1 for update', [ids.at(-1)]);
  const second = await stage.relayProcess();
  await until(async () => (await answered()) >= 600, 120_000);
  second.signal('SIGKILL');
  await second.exited;
  await holder.rollback();
  expect((await operator.bulk.show(id)).state).toBe('running');
  await stage.relay();
  await until(async () => (await operator.bulk.show(id)).state !== 'running', 200_000);

  expect(await operator.bulk.show(id)).toMatchObject({
    state: 'done',
    counts: { rescheduled: 900 },
    answered: 900,
  });
  const moved = [...(await dueTimes(stage))].map(([message, due]) => due - (before.get(message) ?? 0n));
  expect(new Set(moved)).toEqual(new Set([BigInt(hourMs) * 1_000n]));
  await expectAuditedOnce(stage, id, ids);
});

test.concurrent('I14 two runners of one operation take turns, and the database refuses a second entry for a message', async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const operator = operationsAt(stage, context);
  const ids = await storeMany(stage, 'orders', 2_500, hourMs);
  const { id: started } = await operator.bulk.start(
    { topic: 'orders' },
    { action: 'reschedule', shift: '1 hour' },
    { ...ada, ratePerSecond: 10_000 },
  );
  const id = started ?? '';
  const { database } = stage;
  const runners = [1, 2].map(() => createRelayBulkRunner(database, () => undefined));
  /** Both request the next page at the same moment: they queue behind a process that has the operation in hand. */
  const runBoth = async (): Promise<readonly string[]> => {
    const holder = await openTransaction(stage.url);
    await holder.query('select from outbox.bulk_operation where id = $1 for update', [id]);
    const running = Promise.all(runners.map((runner) => runner.runPage(id, () => undefined)));
    // A failure here is reported below.
    running.catch(() => undefined);
    try {
      await untilLockWaits(database, runners.length);
    } finally {
      await holder.rollback();
    }
    return (await running).map(({ kind }) => kind);
  };

  expect(await runBoth()).toEqual(['more', 'more']);
  expect((await operator.bulk.show(id)).answered, 'a page of each').toBe(2_000);
  while ((await runBoth()).includes('more'));

  expect(await operator.bulk.show(id)).toMatchObject({ state: 'done', counts: { rescheduled: 2_500 } });
  await expectAuditedOnce(stage, id, ids);
  const entry = `insert into outbox.audit (actor, action, message_id, result, bulk_id) values ('ada', 'cancel', $1, 'canceled', $2)`;
  await expect(database.query(entry, [ids[0], id])).rejects.toMatchObject({ code: '23505' });
}, 120_000);
