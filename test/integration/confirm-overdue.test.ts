import { afterEach, beforeEach, expect, test } from 'vitest';
import { wantedLanes } from '../../src/store/lane/starts.ts';
import { type ConfirmBench, confirmBench } from '../support/fixtures/confirm-bench.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let bench: ConfirmBench;
beforeEach(async () => {
  bench = await confirmBench();
});
afterEach(() => bench.lanes.drop());

/** Messages of one key that the group has passed without a word, long ago. */
async function passedWithoutWord(...labels: readonly string[]): Promise<void> {
  await bench.publish('K', ...labels);
  await bench.expire(...labels);
  bench.passed = '100';
}

test('a message that is sent again is ready for everybody, wanted, and can no longer be canceled', async () => {
  await passedWithoutWord('A');

  await bench.overdue();

  expect(await bench.row('A')).toMatchObject({
    state: 'ready',
    maybePublished: true,
    withinS: null,
    sends: 1,
  });
  expect(await wantedLanes(bench.lanes.database, ['orders'])).toMatchObject([{ topic: 'orders', lane: 0 }]);
  expect(await bench.lanes.cancel('A')).toBe('too-late');
  expect(bench.events).toEqual([{ type: 'messages-resent', topic: 'orders', count: 1 }]);
});

test('each send gives the receipt the time that its number has', async () => {
  await passedWithoutWord('A');
  await bench.overdue();
  await bench.lanes.drain();
  expect(await bench.row('A')).toMatchObject({ state: 'published', sends: 2, withinS: 20, offset: '1' });

  await bench.expire('A');
  await bench.overdue();
  await bench.lanes.drain();

  expect(await bench.row('A')).toMatchObject({ state: 'published', sends: 3, withinS: 30, offset: '2' });
});

test('messages of a key that are sent again go in their order, and before new ones of the key', async () => {
  await passedWithoutWord('A', 'B', 'C');
  await bench.lanes.send('D', { key: 'K' });
  bench.lanes.broker.log.length = 0;

  await bench.overdue();
  await bench.lanes.drain();

  expect(bench.lanes.broker.labels).toEqual(['A', 'B', 'C', 'D']);
});

test('a message does not overtake an earlier one of its key that somebody has locked', async () => {
  await passedWithoutWord('A', 'B');
  bench.lanes.broker.log.length = 0;
  const other = await bench.lanes.begin();
  await other.query('select 1 from outbox.message where id = $1 for update', [bench.lanes.idOf('A')]);

  await bench.overdue();
  expect(await bench.lanes.states('A', 'B')).toEqual(['published', 'published']);

  await other.rollback();
  await bench.overdue();
  await bench.lanes.drain();
  expect(bench.lanes.broker.labels).toEqual(['A', 'B']);
});

test('a message waits for an earlier one of its key that is due later, and goes with it', async () => {
  await passedWithoutWord('A', 'B');
  await bench.lanes.database.query(
    `update outbox.message set confirm_by = outbox.clock() + interval '1 hour' where id = $1`,
    [bench.lanes.idOf('A')],
  );

  await bench.overdue();

  expect(await bench.lanes.states('A', 'B')).toEqual(['published', 'published']);
  expect((await bench.row('B')).withinS).toBeCloseTo(3_600, -2);
});

test('a message whose earlier one is confirmed or given up does not wait', async () => {
  await passedWithoutWord('A', 'B', 'C');
  await bench.lanes.database.query('update outbox.message set sends = 3 where id = $1', [
    bench.lanes.idOf('B'),
  ]);
  await bench.receipt(['A']);

  await bench.overdue();

  expect(await bench.lanes.states('A', 'B', 'C')).toEqual(['confirmed', 'failed', 'ready']);
});

test('a repeat that is refused keeps later ones of its key behind it, and can still be confirmed', async () => {
  await passedWithoutWord('A');
  bench.lanes.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await bench.overdue();
  await bench.lanes.send('B', { key: 'K' });
  await bench.lanes.drain();
  expect(await bench.lanes.states('A', 'B')).toEqual(['retrying', 'held']);
  expect(await bench.lanes.cancel('A')).toBe('too-late');
  expect(await bench.row('A')).toMatchObject({ sends: 1, partition: 0, offset: '0', published: true });

  await bench.receipt(['A']);
  await bench.lanes.drain();

  expect(await bench.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
});

test('a repeat behind a retrying message of its key is held, and released in order', async () => {
  bench.lanes.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  const late = await bench.lanes.begin();
  await bench.lanes.send('A', { key: 'K' }, late);
  await passedWithoutWord('B');
  await late.commit();
  await bench.lanes.drain();
  await bench.overdue();
  await bench.lanes.drain();
  expect(await bench.lanes.states('A', 'B')).toEqual(['retrying', 'held']);

  bench.lanes.broker.judge = () => 'store';
  bench.lanes.broker.log.length = 0;
  await bench.lanes.release('A');
  await bench.lanes.drain();

  expect(bench.lanes.broker.labels).toEqual(['A', 'B']);
  expect(await bench.row('B')).toMatchObject({ state: 'published', sends: 2 });
});

test('a receipt between the decision and the claim spares the repeat', async () => {
  await passedWithoutWord('A');
  await bench.overdue();

  await bench.receipt(['A']);
  await bench.lanes.drain();

  expect(bench.lanes.broker.labels).toEqual(['A']);
  expect(await bench.lanes.states('A')).toEqual(['confirmed']);
});

test('a hold during a repeat keeps it ready, and counts no send', async () => {
  await passedWithoutWord('A');
  await bench.overdue();
  bench.lanes.broker.judge = () => 'hold';
  bench.lanes.broker.reachable = false;

  await bench.lanes.drain({
    timings: { runMs: 50, lingerMs: 0, hotLookMs: 10, idleLookMs: 10, checkMs: 10, probeMs: 10 },
  });

  expect(await bench.row('A')).toMatchObject({ state: 'ready', sends: 1 });
  bench.lanes.broker.judge = () => 'store';
  await bench.lanes.drain();
  expect(await bench.row('A')).toMatchObject({ state: 'published', sends: 2 });
});

test('a message that is given up says why, is alerted, and a late receipt still confirms it', async () => {
  await passedWithoutWord('A');
  await bench.lanes.database.query('update outbox.message set sends = 3');

  await bench.overdue();

  expect(await bench.row('A')).toMatchObject({
    state: 'failed',
    lastError: 'The group "shop" has passed this message without a receipt, 3 times.',
    maybePublished: true,
    withinS: null,
  });
  expect(bench.events).toEqual([{ type: 'messages-unconfirmed', topic: 'orders', count: 1 }]);
  await bench.receipt(['A']);
  expect(await bench.lanes.states('A')).toEqual(['confirmed']);
});

test('where failed messages hold their key, one that is given up holds it until its late receipt', async () => {
  await bench.lanes.drop();
  bench = await confirmBench({
    exhausted: 'hold-key',
    confirm: { group: 'shop', within: '10s', maxSends: 1 },
  });
  await passedWithoutWord('A');
  await bench.overdue();
  await bench.publish('K', 'B');
  expect(await bench.lanes.states('A', 'B')).toEqual(['failed', 'held']);

  await bench.receipt(['A']);
  await bench.lanes.drain();

  expect(await bench.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
});

test('many relays at once send each overdue message once', async () => {
  const labels = Array.from({ length: 30 }, (_, n) => `m${n}`);
  await passedWithoutWord(...labels);
  bench.lanes.broker.log.length = 0;

  await Promise.all([bench.overdue(), bench.secondRelay(), bench.secondRelay()]);
  for (let round = 0; round < 3; round += 1) await bench.overdue();
  await bench.lanes.drain();

  expect(bench.lanes.broker.labels).toEqual(labels);
  const resent = bench.events.flatMap((event) => (event.type === 'messages-resent' ? [event.count] : []));
  expect(resent.reduce((sum, count) => sum + count, 0)).toBe(30);
});

test('a backlog of more messages than one transaction takes is worked through in one round', async () => {
  await bench.publish('K', 'A');
  await bench.lanes.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, '{}', 'ready', 'w' from generate_series(1, 1200)`,
  );
  await bench.lanes.database.query(
    `update outbox.message set state = 'published', partition = 0, "offset" = 1, sends = 1,
       confirm_by = outbox.clock() - interval '1 hour' where state = 'ready'`,
  );
  bench.passed = '100';

  await bench.overdue();

  const resent = bench.events.flatMap((event) => (event.type === 'messages-resent' ? [event.count] : []));
  expect(resent.reduce((sum, count) => sum + count, 0)).toBe(1_200);
  expect(Math.max(...resent)).toBeLessThanOrEqual(1_000);
});
