import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfirmBench, confirmBench, elsewhere } from '../support/fixtures/confirm-bench.ts';
import { until } from '../support/fixtures/until.ts';

let bench: ConfirmBench;
beforeEach(async () => {
  bench = await confirmBench();
});
afterEach(() => bench.lanes.drop());

test('an acknowledged message says where it is, how often it was sent, and when its receipt is overdue', async () => {
  await bench.publish('K', 'A', 'B');

  expect(await bench.row('B')).toMatchObject({
    state: 'published',
    sends: 1,
    partition: 0,
    offset: '1',
    published: true,
    withinS: 10,
  });
});

test('a message that was refused before counts as sent once, and its first receipt has the first time', async () => {
  bench.lanes.broker.judge = () => 'reject';
  await bench.publish('K', 'A');
  bench.lanes.broker.judge = () => 'store';
  await bench.lanes.release('A');
  await bench.lanes.drain();

  expect(await bench.row('A')).toMatchObject({ state: 'published', sends: 1, withinS: 10 });
});

test('a receipt confirms published messages, and may come twice', async () => {
  await bench.publish('K', 'A', 'B', 'C');

  expect(await bench.receipt(['A', 'B'])).toBe(true);
  expect(await bench.receipt(['A', 'B'])).toBe(true);

  expect(await bench.lanes.states('A', 'B', 'C')).toEqual(['confirmed', 'confirmed', 'published']);
  expect(await bench.row('A')).toMatchObject({ withinS: null, offset: '0' });
  expect(bench.events).toEqual([{ type: 'messages-confirmed', topic: 'orders', count: 2 }]);
});

test('a receipt before the settle is not undone by it, and the row still learns where it was published', async () => {
  bench.lanes.broker.after = async () => void (await bench.receipt(['A']));
  for (const label of ['A', 'B']) await bench.lanes.send(label, { key: 'K' });
  // A settle that is refused would be said again for a minute.
  const refusals: unknown[] = [];
  const refused = new AbortController();
  const drained = bench.lanes.drain({
    signal: refused.signal,
    report: (event) => {
      if (event.type !== 'failed') return;
      refusals.push(event.error);
      refused.abort();
    },
  });

  await drained.catch(() => undefined);

  expect(refusals).toEqual([]);
  expect(await bench.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
  expect(await bench.row('A')).toMatchObject({
    sends: 1,
    partition: 0,
    offset: '0',
    published: true,
    withinS: null,
  });
  await bench.lanes.drain();
  expect(bench.lanes.broker.labels).toEqual(['A', 'B']);
});

test('a receipt that meets a settle in progress waits for it', async () => {
  await bench.publish('K', 'A', 'B');
  const other = await bench.lanes.begin();
  await other.query(`update outbox.message set updated_at = outbox.clock() where id = $1`, [
    bench.lanes.idOf('A'),
  ]);

  const applied = bench.receipt(['A', 'B']);
  // Its first try has met the lock of A when B is confirmed; it tries forty times.
  await until(async () => String(await bench.lanes.states('A', 'B')) === 'published,confirmed');
  await other.commit();

  expect(await applied).toBe(true);
  expect(await bench.lanes.states('A', 'B')).toEqual(['confirmed', 'confirmed']);
});

test('a receipt whose row stays locked is offered again, and confirms what is free meanwhile', async () => {
  await bench.publish('K', 'A', 'B');
  const other = await bench.lanes.begin();
  await other.query(`update outbox.message set updated_at = outbox.clock() where id = $1`, [
    bench.lanes.idOf('A'),
  ]);

  expect(await bench.receipt(['A', 'B'])).toBe(false);
  expect(await bench.lanes.states('A', 'B')).toEqual(['published', 'confirmed']);

  await other.rollback();
  expect(await bench.receipt(['A', 'B'])).toBe(true);
  expect(await bench.lanes.states('A')).toEqual(['confirmed']);
});

test('a receipt of an ambiguous send confirms the message, and its key goes on', async () => {
  bench.lanes.broker.judge = () => 'store-silently';
  await bench.publish('K', 'A', 'B');
  bench.lanes.broker.judge = () => 'store';
  expect(await bench.lanes.states('A', 'B')).toEqual(['retrying', 'held']);

  await bench.receipt(['A']);
  await bench.lanes.drain();

  expect(await bench.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
  expect(bench.lanes.broker.labels).toEqual(['A', 'B']);
});

test('only the group that the topic asks can confirm', async () => {
  await bench.publish('K', 'A');

  expect(await bench.receipt(['A'], { group: 'audit' })).toBe(true);

  expect(await bench.lanes.states('A')).toEqual(['published']);
});

test('ids of another installation, of nobody and of other forms confirm nothing and stop nothing', async () => {
  await bench.publish('K', 'A', 'B');
  const [a, b] = [bench.lanes.idOf('A'), bench.lanes.idOf('B')];

  expect(await bench.receipt([], { installation: elsewhere, ids: [a] })).toBe(true);
  expect(await bench.receipt([], { ids: [elsewhere, 'order-1', '', b.toUpperCase()] })).toBe(true);

  expect(await bench.lanes.states('A', 'B')).toEqual(['published', 'confirmed']);
});

test('a canceled message stays canceled, whatever receipt comes', async () => {
  await bench.lanes.send('A', { afterMs: 60_000 });
  await bench.lanes.cancel('A');

  expect(await bench.receipt(['A'])).toBe(true);

  expect(await bench.lanes.states('A')).toEqual(['canceled']);
});

test('a record that is no receipt is passed over, and told', async () => {
  expect(await bench.offer('{')).toBe(true);
  expect(await bench.offer('')).toBe(true);

  expect(bench.events).toMatchObject([{ type: 'receipt-unreadable' }, { type: 'receipt-unreadable' }]);
});

test('a message that its consumer keeps parked is never given up, however often it is asked', async () => {
  await bench.publish('K', 'A');
  for (let round = 1; round <= 5; round += 1) {
    await bench.receipt(['A'], { state: 'parked' });
    await bench.expire('A');
    bench.passed = '100';
    await bench.overdue();
    expect(await bench.lanes.states('A'), `round ${round}`).toEqual(['ready']);
    await bench.lanes.drain();
  }
  await bench.receipt(['A']);
  expect(await bench.row('A')).toMatchObject({ state: 'confirmed' });
});

test('a parked receipt gives the message its time once more, and confirms nothing', async () => {
  await bench.publish('K', 'A');
  await bench.publish('L', 'B');
  await bench.expire('A', 'B');

  await bench.receipt(['A'], { state: 'parked' });

  expect(await bench.row('A')).toMatchObject({ state: 'published', withinS: 10, sends: 0 });
  bench.passed = '2';
  await bench.overdue();
  expect(await bench.lanes.states('A', 'B')).toEqual(['published', 'ready']);
});
