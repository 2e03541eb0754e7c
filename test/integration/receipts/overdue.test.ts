import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { type ConfirmFixture, confirmFixture } from '../../support/fixtures/confirm-fixture.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: ConfirmFixture;
beforeEach(async () => {
  fixture = await confirmFixture();
});
afterEach(() => fixture.lanes.drop());

/** Messages of one key that the group has passed without a word, long ago. */
async function passedWithoutWord(...labels: readonly string[]): Promise<void> {
  await fixture.publish('K', ...labels);
  await fixture.expire(...labels);
  fixture.passed = '100';
}

test('a resent message is ready, visible, wanted, and can no longer be canceled', async () => {
  await passedWithoutWord('A');

  await fixture.overdue();

  expect(await fixture.row('A')).toMatchObject({
    state: 'ready',
    maybePublished: true,
    withinS: null,
    sends: 1,
  });
  expect(await wantedLanes(fixture.lanes.database, ['orders'])).toMatchObject([{ topic: 'orders', lane: 0 }]);
  expect(await fixture.lanes.cancel('A')).toBe('too-late');
  expect(fixture.events).toEqual([{ type: 'messages-resent', topic: 'orders', count: 1 }]);
});

test('each send sets the receipt timeout of its number', async () => {
  await passedWithoutWord('A');
  await fixture.overdue();
  await fixture.lanes.drain();
  expect(await fixture.row('A')).toMatchObject({ state: 'published', sends: 2, withinS: 20, offset: '1' });

  await fixture.expire('A');
  await fixture.overdue();
  await fixture.lanes.drain();

  expect(await fixture.row('A')).toMatchObject({ state: 'published', sends: 3, withinS: 30, offset: '2' });
});

test('resent messages of a key go in order, before new ones of the key', async () => {
  await passedWithoutWord('A', 'B', 'C');
  await fixture.lanes.send('D', { key: 'K' });
  fixture.lanes.broker.log.length = 0;

  await fixture.overdue();
  await fixture.lanes.drain();

  expect(fixture.lanes.broker.labels).toEqual(['A', 'B', 'C', 'D']);
});

test('a message does not overtake an earlier locked one of its key', async () => {
  await passedWithoutWord('A', 'B');
  fixture.lanes.broker.log.length = 0;
  const other = await fixture.lanes.begin();
  await other.query('select 1 from outbox.message where id = $1 for update', [fixture.lanes.idOf('A')]);

  await fixture.overdue();
  expect(await fixture.lanes.states('A', 'B')).toEqual(['published', 'published']);

  await other.rollback();
  await fixture.overdue();
  await fixture.lanes.drain();
  expect(fixture.lanes.broker.labels).toEqual(['A', 'B']);
});

test('a message waits for an earlier one of its key that is due later, and is resent with it', async () => {
  await passedWithoutWord('A', 'B');
  await fixture.lanes.database.query(
    `update outbox.message set confirm_by = outbox.clock() + interval '1 hour' where id = $1`,
    [fixture.lanes.idOf('A')],
  );

  await fixture.overdue();

  expect(await fixture.lanes.states('A', 'B')).toEqual(['published', 'published']);
  expect((await fixture.row('B')).withinS).toBeCloseTo(3_600, -2);
});

test('a message does not wait for an earlier one that is confirmed or given up', async () => {
  await passedWithoutWord('A', 'B', 'C');
  await fixture.lanes.database.query('update outbox.message set sends = 3 where id = $1', [
    fixture.lanes.idOf('B'),
  ]);
  await fixture.receipt(['A']);

  await fixture.overdue();

  expect(await fixture.lanes.states('A', 'B', 'C')).toEqual(['confirmed', 'failed', 'ready']);
});

test('a refused resend blocks later messages of its key and can still be confirmed', async () => {
  await passedWithoutWord('A');
  fixture.lanes.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.overdue();
  await fixture.lanes.send('B', { key: 'K' });
  await fixture.lanes.drain();
  expect(await fixture.lanes.states('A', 'B')).toEqual(['retrying', 'blocked']);
  expect(await fixture.lanes.cancel('A')).toBe('too-late');
  expect(await fixture.row('A')).toMatchObject({ sends: 1, partition: 0, offset: '0', published: true });

  await fixture.receipt(['A']);
  await fixture.lanes.drain();

  expect(await fixture.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
});

test('a resend behind a retrying message of its key is blocked, and released in order', async () => {
  fixture.lanes.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  const late = await fixture.lanes.begin();
  await fixture.lanes.send('A', { key: 'K' }, late);
  await passedWithoutWord('B');
  await late.commit();
  await fixture.lanes.drain();
  await fixture.overdue();
  await fixture.lanes.drain();
  expect(await fixture.lanes.states('A', 'B')).toEqual(['retrying', 'blocked']);

  fixture.lanes.broker.judge = () => 'store';
  fixture.lanes.broker.log.length = 0;
  await fixture.lanes.release('A');
  await fixture.lanes.drain();

  expect(fixture.lanes.broker.labels).toEqual(['A', 'B']);
  expect(await fixture.row('B')).toMatchObject({ state: 'published', sends: 2 });
});

test('a receipt between the decision and the claim prevents the resend', async () => {
  await passedWithoutWord('A');
  await fixture.overdue();

  await fixture.receipt(['A']);
  await fixture.lanes.drain();

  expect(fixture.lanes.broker.labels).toEqual(['A']);
  expect(await fixture.lanes.states('A')).toEqual(['confirmed']);
});

test('a hold during a resend keeps it ready and counts no send', async () => {
  await passedWithoutWord('A');
  await fixture.overdue();
  const stop = new AbortController();
  const { events } = fixture.lanes;
  fixture.lanes.broker.judge = () => 'hold';
  fixture.lanes.broker.probe = () => {
    stop.abort();
    return Promise.reject(new Error('away'));
  };

  await fixture.lanes.drain({
    signal: stop.signal,
    timings: { ...defaultTimings, laneIdleTimeoutMs: 0, checkIntervalMs: 10, probeIntervalMs: 10 },
  });

  expect(events.filter(({ type }) => type === 'hold-began')).toHaveLength(1);
  expect(await fixture.row('A')).toMatchObject({ state: 'ready', sends: 1 });
  fixture.lanes.broker.judge = () => 'store';
  await fixture.lanes.drain();
  expect(await fixture.row('A')).toMatchObject({ state: 'published', sends: 2 });
});

test('a message that is given up has a reason and an alert, and a late receipt still confirms it', async () => {
  await passedWithoutWord('A');
  await fixture.lanes.database.query('update outbox.message set sends = 3');

  await fixture.overdue();

  expect(await fixture.row('A')).toMatchObject({
    state: 'failed',
    lastError: 'The group "shop" has passed this message without a receipt, 3 times.',
    maybePublished: true,
    withinS: null,
  });
  expect(fixture.events).toEqual([
    { type: 'messages-unconfirmed', topic: 'orders', count: 1 },
    {
      type: 'failed',
      topic: 'orders',
      lane: 0,
      id: fixture.lanes.idOf('A'),
      key: 'K',
      attempt: 3,
      outcome: 'unconfirmed',
      error: 'The group "shop" has passed this message without a receipt, 3 times.',
      transport: 'scripted',
      address: 'orders',
    },
  ]);
  await fixture.receipt(['A']);
  expect(await fixture.lanes.states('A')).toEqual(['confirmed']);
});

test('where failed messages block their key, one that is given up blocks it until its late receipt', async () => {
  await fixture.lanes.drop();
  fixture = await confirmFixture({
    exhausted: 'block-key',
    confirm: { group: 'shop', receiptTimeout: '10s', maxSends: 1 },
  });
  await passedWithoutWord('A');
  await fixture.overdue();
  await fixture.publish('K', 'B');
  expect(await fixture.lanes.states('A', 'B')).toEqual(['failed', 'blocked']);

  await fixture.receipt(['A']);
  await fixture.lanes.drain();

  expect(await fixture.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
});

test('many relays together resend each overdue message once', async () => {
  const labels = Array.from({ length: 30 }, (_, n) => `m${n}`);
  await passedWithoutWord(...labels);
  fixture.lanes.broker.log.length = 0;

  await Promise.all([fixture.overdue(), fixture.overdue(), fixture.overdue()]);
  for (let round = 0; round < 3; round += 1) await fixture.overdue();
  await fixture.lanes.drain();

  expect(fixture.lanes.broker.labels).toEqual(labels);
  const resent = fixture.events.flatMap((event) => (event.type === 'messages-resent' ? [event.count] : []));
  expect(resent.reduce((sum, count) => sum + count, 0)).toBe(30);
});

test('a backlog larger than one transaction is processed in one round', async () => {
  await fixture.publish('K', 'A');
  await fixture.lanes.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, '{}', 'ready', 'w' from generate_series(1, 1200)`,
  );
  await fixture.lanes.database.query(
    `update outbox.message set state = 'published', partition = 0, "offset" = 1, sends = 1,
       confirm_by = outbox.clock() - interval '1 hour' where state = 'ready'`,
  );
  fixture.passed = '100';

  await fixture.overdue();

  const resent = fixture.events.flatMap((event) => (event.type === 'messages-resent' ? [event.count] : []));
  expect(resent.reduce((sum, count) => sum + count, 0)).toBe(1_200);
  expect(Math.max(...resent)).toBeLessThanOrEqual(1_000);
});
