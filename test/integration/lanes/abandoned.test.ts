import { expect, test } from 'vitest';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { numbered, openStage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

/** A relay takes up what an operator has left after five seconds, and looks every five. */
const takenUpWithinMs = 40_000;

test('a change of lanes abandoned by its operator is completed by a running relay, in the name of the operator', {
  tags: ['abandoned-lanes-completed'],
}, async (context) => {
  const stage = await openStage(context, { topics: [numbered('orders'), numbered('invoices')] });
  const relay = await stage.relay();
  const [row] = await stage.database.query<{ key: string }>(
    `select 'k' || n as key from generate_series(1, 100) n where outbox.lane_of('k' || n, null, 4) = 2 limit 1`,
  );
  const key = row?.key ?? '';
  const open = await openTransaction(stage.url);
  await storeMessages(open, 'orders', [{ key, payload: '{"n":1}' }]);
  const by = { actor: 'ann', reason: 'more traffic', timeout: 300 };
  expect(await changeLanes(stage.database, 'orders', 4, by)).toMatchObject({
    done: false,
    waitingFor: 'transactions',
  });
  await storeMessages(stage.database, 'orders', [{ key, payload: '{"n":2}' }]);
  await until(() => relay.events.some(({ type }) => type === 'topic-waiting'), takenUpWithinMs).catch(
    () => undefined,
  );
  expect(relay.events).toContainEqual(expect.objectContaining({ type: 'topic-waiting', topic: 'orders' }));
  expect(await stage.arrived()).toBe(0);

  await open.commit();

  await until(async () => (await stage.arrived()) === 2, takenUpWithinMs);
  expect((await stage.journal()).map(({ payload }) => payload)).toEqual(['{"n":1}', '{"n":2}']);
  expect(await stage.database.query('select from outbox.topic_change')).toEqual([]);
  const audit = await stage.database.query('select actor, result, reason from outbox.audit order by id');
  expect(audit.at(-1)).toEqual({ actor: 'ann', result: 'done', reason: 'finished by a relay' });
});

test('a change of lanes whose operator still runs is left to the operator', async (context) => {
  const stage = await openStage(context, { topics: [numbered('orders')] });
  await stage.relay();

  expect(await changeLanes(stage.database, 'orders', 3, { actor: 'ann' })).toMatchObject({ done: true });

  const audit = await stage.database.query<{ reason: string | null }>('select reason from outbox.audit');
  expect(audit.map(({ reason }) => reason)).not.toContain('finished by a relay');
});
