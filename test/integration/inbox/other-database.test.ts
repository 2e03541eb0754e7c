import { expect, inject, onTestFinished, test } from 'vitest';
import { receiptsAddress } from '../../../src/core/receipt.ts';
import { confirmStage } from '../../support/fixtures/confirm-stage.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

test('an inbox in a database other than the outbox parks, retries and confirms as one in the same', {}, async () => {
  const stage = await confirmStage({ onTestFinished }, { receiptTimeout: '1h' });
  const other = await createTestDatabase();
  onTestFinished(() => other.drop());
  await other.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
  const prisma = openPrisma(other.url);
  onTestFinished(() => prisma.$disconnect());
  await stage.relay();
  let healthy = false;
  const running = await stage.consume({
    prisma,
    quickRetries: [],
    // Enough until the others are confirmed.
    retry: ['200ms', '200ms', '500ms', ...Array.from({ length: 90 }, () => '1s' as const)],
    before: (n) => {
      if (n === 2 && !healthy) throw new Error('the bank is closed');
    },
  });
  await stage.send(1, 2, 3);

  await until(async () => (await stage.states()).filter((state) => state === 'confirmed').length === 2);
  await until(async () => (await stage.states()).every((state) => state !== 'ready'));
  const kept = await other.database.query<{ state: string }>('select state from outbox.parked');
  expect(kept).toEqual([{ state: 'parked' }]);
  expect(await stage.states()).toEqual(['confirmed', 'published', 'confirmed']);

  healthy = true;
  await until(async () => (await stage.states()).every((state) => state === 'confirmed'));

  const effects = await other.database.query<{ n: number }>('select n from effect order by n');
  expect(effects.map(({ n }) => n)).toEqual([1, 2, 3]);
  expect(await stage.effects()).toEqual([]);
  expect(running.counts()).toMatchObject({ handled: 3, parked: 1, duplicates: 0 });
  const states = (await readTopic(observer(inject('kafkaBrokers')), receiptsAddress))
    .filter(({ key }) => key === stage.group)
    .map(({ payload }) => (JSON.parse(payload) as { state: string }).state);
  expect(new Set(states)).toEqual(new Set(['processed', 'parked']));
  const noted = await stage.database.query('select from outbox.processed');
  expect(noted, 'the sender knows nothing of processed ids').toEqual([]);
});
