import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { topic } from '../../../src/core/topic.ts';
import { announceTopics, completeChanges } from '../../../src/operations/announce.ts';
import { changeLanes, continueLanesChange } from '../../../src/operations/delivery/lanes.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange } from '../../../src/store/lane/lanes-switch.ts';
import { readOpenChanges, upsertTopics } from '../../../src/store/lane/topics.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { numbered, openStage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = topic('orders', z.unknown(), { lanes: 4 });
const policies = [policyOf(orders, 'scripted')];

let fixture: LaneFixture | undefined;

afterEach(async () => {
  await fixture?.drop();
  fixture = undefined;
});

/** An outbox without the topic, and a key of its lane 2. */
async function unannounced(): Promise<{ readonly at: LaneFixture; readonly key: string }> {
  const at = new LaneFixture(await createTestDatabase(), orders.rules);
  fixture = at;
  return { at, key: await keyOfLaneTwo(at) };
}

async function keyOfLaneTwo({ database }: Pick<LaneFixture, 'database'>): Promise<string> {
  const [row] = await database.query<{ key: string }>(
    `select 'k' || n as key from generate_series(1, 100) n where outbox.lane_of('k' || n, null, 4) = 2 limit 1`,
  );
  return row?.key ?? '';
}

async function drainAll(at: LaneFixture, lanes: readonly number[] = [3, 2, 1, 0]): Promise<void> {
  for (const lane of lanes) await at.drain({ lane: { topic: 'orders', lane } });
}

test('messages stored before their topic was announced keep the order of their key, also delayed ones', {
  tags: ['order-per-key'],
}, async () => {
  const { at, key } = await unannounced();
  await at.send('K1', { key });
  await at.send('later', { key, afterMs: 3_600_000 });
  expect(await announceTopics(at.database, policies, {})).toEqual([]);
  await at.send('K2', { key });
  await drainAll(at);
  expect(at.broker.labels).toEqual(['K1', 'K2']);
  await at.release('later');
  await drainAll(at, [2]);
  expect(at.broker.labels).toEqual(['K1', 'K2', 'later']);
});

test('a message of a transaction open at the announcement is not overtaken', {
  tags: ['order-per-key'],
}, async () => {
  const { at, key } = await unannounced();
  const open = await at.begin();
  await at.send('K1', { key }, open);
  expect(await announceTopics(at.database, policies, { timeout: 200 })).toMatchObject([
    { topic: 'orders', waitingFor: 'transactions' },
  ]);
  await at.send('K2', { key });
  await drainAll(at);
  expect(at.broker.labels).toEqual([]);
  await open.commit();
  expect(await completeChanges(at.database, ['orders'], {})).toEqual([]);
  await drainAll(at);
  expect(at.broker.labels).toEqual(['K1', 'K2']);
});

test('of many relays that complete one announcement one does it', async () => {
  const { at, key } = await unannounced();
  const open = await at.begin();
  await at.send('K1', { key }, open);
  await upsertTopics(at.database, policies);
  const relays = Array.from({ length: 3 }, () => completeChanges(at.database, ['orders'], {}));
  await at.send('K2', { key });
  await open.commit();
  expect(await Promise.all(relays)).toEqual([[], [], []]);
  const audit = await at.database.query<{ result: string }>('select result from outbox.audit');
  expect(audit).toEqual([{ result: 'done' }]);
  await drainAll(at);
  expect(at.broker.labels).toEqual(['K1', 'K2']);
});

test('a change that fails hides no other, and is told when all have ended', async () => {
  const { at } = await unannounced();
  const broken = topic('broken', z.unknown(), { lanes: 2 });
  await upsertTopics(at.database, [...policies, policyOf(broken, 'scripted')]);
  const open = await at.begin();
  await at.send('K1', {}, open);
  const failing: typeof at.database = {
    ...at.database,
    query: async (text, values) => {
      if (text.includes('outbox.topic_change c') && values?.[0] === 'broken')
        throw new Error('It is broken.');
      return at.database.query(text, values);
    },
  };
  const topics = ['broken', 'orders'];
  const failures: unknown[] = [];

  const waiting = await completeChanges(
    failing,
    topics,
    { timeout: 300 },
    (error) => void failures.push(error),
  );
  expect(waiting).toMatchObject([{ topic: 'orders', waitingFor: 'transactions' }]);
  expect(failures).toMatchObject([{ message: 'It is broken.' }]);
  await expect(completeChanges(failing, topics, { timeout: 0 })).rejects.toThrow('It is broken.');
});

test('an overtaken call ends and moves nothing of the change that followed', {
  tags: ['order-per-key'],
}, async () => {
  const { at, key } = await unannounced();
  await upsertTopics(at.database, policies);
  const [overtaken] = await readOpenChanges(at.database, ['orders']);
  await completeChanges(at.database, ['orders'], {});
  const open = await at.begin();
  await at.send('K1', { key }, open);
  const by = { actor: 'test' };
  expect(await changeLanes(at.database, 'orders', 1, { ...by, timeout: 0 })).toMatchObject({ done: false });
  // The same number as that of the call that was overtaken, and older transactions of its own.
  expect(await changeLanes(at.database, 'orders', 4, { ...by, timeout: 0 })).toMatchObject({ done: false });

  if (overtaken === undefined) throw new Error('Nothing was announced.');
  for (const late of [
    () => continueLanesChange(at.database, { ...overtaken, step: 'begun' }, by, {}),
    () => replaceMessages(at.database, overtaken),
    () => endLanesChange(at.database, overtaken, by),
  ])
    await expect(late()).rejects.toThrow(/another call/i);
  await at.send('K2', { key });
  await drainAll(at);
  expect(at.broker.labels).toEqual([]);
  await open.commit();
  expect(await changeLanes(at.database, 'orders', 4, by)).toMatchObject({ done: true });
  await drainAll(at);
  expect(at.broker.labels).toEqual(['K1', 'K2']);
});

test('a change that its operator has left is completed although the clock was set back by an hour', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  const { at, key } = await unannounced();
  await announceTopics(at.database, policies, {});
  const open = await at.begin();
  await at.send('K1', { key }, open);
  expect(await changeLanes(at.database, 'orders', 1, { actor: 'ann', timeout: 0 })).toMatchObject({
    done: false,
  });
  await open.commit();
  await at.database.query(`update outbox.topic_change set begun_at = begun_at + interval '1 hour'`);

  expect(await completeChanges(at.database, ['orders'], {})).toEqual([]);

  expect(await at.database.query('select from outbox.topic_change')).toEqual([]);
});

test('a relay that starts during an open sender delivers its topic in order once that has ended, and reports why not before', async (context) => {
  const stage = await openStage(context, {
    topics: [numbered('orders', { lanes: 4 }), numbered('invoices', { lanes: 2 })],
  });
  const key = await keyOfLaneTwo(stage);
  const [invoice] = await storeMessages(stage.database, 'invoices', [{ key, payload: '{"n":0}' }]);
  const open = await openTransaction(stage.url);
  await storeMessages(open, 'orders', [{ key, payload: '{"n":1}' }]);
  const relay = await stage.relay();
  await storeMessages(stage.database, 'orders', [{ key, payload: '{"n":2}' }]);
  await until(() => relay.events.some(({ type }) => type === 'topic-waiting'), 30_000);
  expect(await stage.arrived()).toBe(0);
  await open.commit();
  await until(async () => (await stage.arrived()) === 3, 30_000);
  const journal = await stage.journal();
  expect(journal.filter(({ id }) => id !== invoice?.id).map(({ payload }) => payload)).toEqual([
    '{"n":1}',
    '{"n":2}',
  ]);
});
