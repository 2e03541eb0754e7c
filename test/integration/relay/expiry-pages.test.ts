import { expect, test } from 'vitest';
import { Expiry } from '../../../src/relay/expiry.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { expireBlocked } from '../../../src/store/message/expire.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made), { retry: ['1h'] });

test('one check ends all blocked messages whose expiry has passed, also those of a second page', async () => {
  const { database } = fixture;
  await fixture.send('A', { key: 'K' });
  await fixture.send('B', { key: 'K', expiresAfterMs: 60_000 });
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();
  // As many as a page has, and the one of above.
  await storeMessages(
    database,
    'orders',
    Array.from({ length: 1_000 }, (_, n) => ({ payload: String(n), key: 'K', expiresAfterMs: 60_000 })),
  );
  await fixture.drain();
  await database.query(
    `update only outbox.message set expires_at = outbox.clock() - interval '1 ms' where state = 'blocked'`,
  );

  const events: RelayEvent[] = [];
  await new Expiry(database, (event) => events.push(event)).check();

  expect(await fixture.states('A', 'B')).toEqual(['retrying', 'expired']);
  expect(await database.query(`select from only outbox.message where state = 'blocked'`)).toEqual([]);
  expect(events).toHaveLength(1_001);
  expect(new Set(events.map((event) => event.type === 'expired' && event.id)).size).toBe(1_001);
});

test('of blocked messages whose expiry has passed a page ends those that expired first, whenever they were sent', async () => {
  const { database } = fixture;
  await fixture.send('A', { key: 'K' });
  const labels = ['B', 'C', 'D', 'E'];
  for (const label of labels) await fixture.send(label, { key: 'K', expiresAfterMs: 60_000 });
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();
  for (const [n, label] of labels.entries())
    await database.query(
      `update only outbox.message set expires_at = outbox.clock() - $2 * interval '1 minute' where id = $1`,
      [fixture.idOf(label), n],
    );

  for (const label of labels.toReversed())
    expect(await expireBlocked(database, 1)).toMatchObject([{ id: fixture.idOf(label) }]);
  expect(await expireBlocked(database, 1)).toEqual([]);
});
