import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfirmFixture, confirmFixture, elsewhere } from '../../support/fixtures/confirm-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: ConfirmFixture;
beforeEach(async () => {
  fixture = await confirmFixture();
});
afterEach(() => fixture.lanes.drop());

test('an acknowledged message has its offset, its number of sends and the time when its receipt is overdue', async () => {
  await fixture.publish('K', 'A', 'B');

  expect(await fixture.row('B')).toMatchObject({
    state: 'published',
    sends: 1,
    partition: 0,
    offset: '1',
    published: true,
    withinS: 10,
  });
});

test('a message that was refused before counts as sent once and has the first receipt timeout', async () => {
  fixture.lanes.broker.judge = () => 'reject';
  await fixture.publish('K', 'A');
  fixture.lanes.broker.judge = () => 'store';
  await fixture.lanes.release('A');
  await fixture.lanes.drain();

  expect(await fixture.row('A')).toMatchObject({ state: 'published', sends: 1, withinS: 10 });
});

test('a receipt confirms published messages and may be repeated', async () => {
  await fixture.publish('K', 'A', 'B', 'C');

  expect(await fixture.receipt(['A', 'B'])).toBe(true);
  expect(await fixture.receipt(['A', 'B'])).toBe(true);

  expect(await fixture.lanes.states('A', 'B', 'C')).toEqual(['confirmed', 'confirmed', 'published']);
  expect(await fixture.row('A')).toMatchObject({ withinS: null, offset: '0' });
  expect(fixture.events).toEqual([{ type: 'messages-confirmed', topic: 'orders', count: 2 }]);
});

test('the settle does not undo an earlier receipt, and the row still gets its offset', async () => {
  fixture.lanes.broker.after = async () => void (await fixture.receipt(['A']));
  for (const label of ['A', 'B']) await fixture.lanes.send(label, { key: 'K' });
  // A settle that is refused would be said again for a minute.
  const refusals: unknown[] = [];
  const refused = new AbortController();
  const drained = fixture.lanes.drain({
    signal: refused.signal,
    report: (event) => {
      if (event.type !== 'error') return;
      refusals.push(event.error);
      refused.abort();
    },
  });

  await drained.catch(() => undefined);

  expect(refusals).toEqual([]);
  expect(await fixture.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
  expect(await fixture.row('A')).toMatchObject({
    sends: 1,
    partition: 0,
    offset: '0',
    published: true,
    withinS: null,
  });
  await fixture.lanes.drain();
  expect(fixture.lanes.broker.labels).toEqual(['A', 'B']);
});

test('a receipt that meets a settle in progress waits for it', async () => {
  await fixture.publish('K', 'A', 'B');
  const other = await fixture.lanes.begin();
  await other.query(`update outbox.message set updated_at = outbox.clock() where id = $1`, [
    fixture.lanes.idOf('A'),
  ]);

  const applied = fixture.receipt(['A', 'B']);
  // Its first try has met the lock of A when B is confirmed; it tries forty times.
  await until(async () => String(await fixture.lanes.states('A', 'B')) === 'published,confirmed');
  await other.commit();

  expect(await applied).toBe(true);
  expect(await fixture.lanes.states('A', 'B')).toEqual(['confirmed', 'confirmed']);
});

test('a receipt whose row stays locked is offered again, after confirming the unlocked rows', async () => {
  await fixture.publish('K', 'A', 'B');
  const other = await fixture.lanes.begin();
  await other.query(`update outbox.message set updated_at = outbox.clock() where id = $1`, [
    fixture.lanes.idOf('A'),
  ]);

  expect(await fixture.receipt(['A', 'B'])).toBe(false);
  expect(await fixture.lanes.states('A', 'B')).toEqual(['published', 'confirmed']);

  await other.rollback();
  expect(await fixture.receipt(['A', 'B'])).toBe(true);
  expect(await fixture.lanes.states('A')).toEqual(['confirmed']);
});

test('a receipt of an ambiguous send confirms the message, and its key continues', async () => {
  fixture.lanes.broker.judge = () => 'store-silently';
  await fixture.publish('K', 'A', 'B');
  fixture.lanes.broker.judge = () => 'store';
  expect(await fixture.lanes.states('A', 'B')).toEqual(['retrying', 'blocked']);

  await fixture.receipt(['A']);
  await fixture.lanes.drain();

  expect(await fixture.lanes.states('A', 'B')).toEqual(['confirmed', 'published']);
  expect(fixture.lanes.broker.labels).toEqual(['A', 'B']);
});

test('only the group that the topic requires can confirm', async () => {
  await fixture.publish('K', 'A');

  expect(await fixture.receipt(['A'], { group: 'audit' })).toBe(true);

  expect(await fixture.lanes.states('A')).toEqual(['published']);
});

test('foreign, unknown and malformed ids confirm nothing and stop nothing', async () => {
  await fixture.publish('K', 'A', 'B');
  const [a, b] = [fixture.lanes.idOf('A'), fixture.lanes.idOf('B')];

  expect(await fixture.receipt([], { installation: elsewhere, ids: [a] })).toBe(true);
  expect(await fixture.receipt([], { ids: [elsewhere, 'order-1', '', b.toUpperCase()] })).toBe(true);

  expect(await fixture.lanes.states('A', 'B')).toEqual(['published', 'confirmed']);
});

test('a canceled message stays canceled, whatever receipt arrives', async () => {
  await fixture.lanes.send('A', { afterMs: 60_000 });
  await fixture.lanes.cancel('A');

  expect(await fixture.receipt(['A'])).toBe(true);

  expect(await fixture.lanes.states('A')).toEqual(['canceled']);
});

test('a record that is no receipt is skipped and reported', async () => {
  expect(await fixture.offer('{')).toBe(true);
  expect(await fixture.offer('')).toBe(true);

  expect(fixture.events).toMatchObject([{ type: 'receipt-unreadable' }, { type: 'receipt-unreadable' }]);
});

test('a message parked by its consumer is never given up, however often it is resent', async () => {
  await fixture.publish('K', 'A');
  for (let round = 1; round <= 5; round += 1) {
    await fixture.receipt(['A'], { state: 'parked' });
    await fixture.expire('A');
    fixture.passed = '100';
    await fixture.overdue();
    expect(await fixture.lanes.states('A'), `round ${round}`).toEqual(['ready']);
    await fixture.lanes.drain();
  }
  await fixture.receipt(['A']);
  expect(await fixture.row('A')).toMatchObject({ state: 'confirmed' });
});

test('a parked receipt restarts the receipt timeout and confirms nothing', async () => {
  await fixture.publish('K', 'A');
  await fixture.publish('L', 'B');
  await fixture.expire('A', 'B');

  await fixture.receipt(['A'], { state: 'parked' });

  expect(await fixture.row('A')).toMatchObject({ state: 'published', withinS: 10, sends: 0 });
  fixture.passed = '2';
  await fixture.overdue();
  expect(await fixture.lanes.states('A', 'B')).toEqual(['published', 'ready']);
});
