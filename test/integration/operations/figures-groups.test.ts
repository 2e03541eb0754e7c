import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { writeBreakers } from '../../../src/store/inbox/breakers.ts';
import { removeConsumer, writeConsumer } from '../../../src/store/inbox/consumers.ts';
import { writeRelay } from '../../../src/store/installation/relays.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';

test('figures say of each group how many consumers run, since when none does, what waits, and what its breakers pause', {
  tags: ['alerts-told-once'],
}, async ({ onTestFinished }) => {
  const lanes = await laneFixture();
  onTestFinished(() => lanes.drop());
  const { database } = lanes;
  await database.query(
    `insert into outbox.consumer_group values ('billing', null, outbox.clock() - interval '14 minutes')`,
  );
  const lags = ['orders', 'bills'].map((topic) => ({ group: 'billing', topic, messages: 7 }));
  await writeRelay(database, { ...quietRelay, id: randomUUID(), lags });
  const one = { id: randomUUID(), group: 'billing', host: 'here', pid: 1, version: '1', partitions: [] };
  await writeConsumer(database, one);
  const broken = { failedKeys: 9, keys: 10, probes: 1, nextProbeInMs: 0, error: 'connect ECONNREFUSED' };
  for (const [consumer, pausedMs] of [
    [one.id, 60_000],
    [randomUUID(), 90_000],
  ] as const)
    await writeBreakers(database, { ...one, consumer }, [{ ...broken, address: 'orders', pausedMs }]);

  const running = await readFigures(database);
  expect(running.attended).toMatchObject([{ group: 'billing', consumers: 1, unread: 14 }]);
  expect(running.pausedAddresses).toMatchObject([
    { group: 'billing', address: 'orders', error: 'connect ECONNREFUSED' },
  ]);
  expect(running.pausedAddresses[0]?.pausedMs).toBeGreaterThanOrEqual(90_000);

  await removeConsumer(database, one.id);
  const { attended } = await readFigures(database);
  expect(attended).toMatchObject([{ group: 'billing', consumers: 0 }]);
  // Not the age of the row of the group, which consumers note every few minutes.
  expect(attended[0]?.seenMs).toBeLessThan(10 * 60_000);
});
