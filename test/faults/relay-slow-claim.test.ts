import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defaultTimings } from '../../src/relay/timings.ts';
import type { Database } from '../../src/store/database/database.ts';
import { leaseMs } from '../../src/store/lane/lease.ts';
import { laneBench } from '../support/fixtures/lane-bench.ts';

test('I13: a lane whose claims take longer than half a lease is drained all the same', async (context) => {
  const bench = await laneBench();
  context.onTestFinished(() => bench.drop());
  const slow: Database = {
    ...bench.database,
    query: async <Row>(text: string, values?: readonly unknown[]) => {
      const rows = await bench.database.query<Row>(text, values);
      if (text.includes('outbox.claim(')) await delay(leaseMs / 2 + 300);
      return rows;
    },
  };
  await bench.send('A');

  // Room for one claim that counts, and none that is discarded.
  await bench.drain({ database: slow, timings: { ...defaultTimings, runMs: leaseMs / 2 } });

  expect(bench.broker.labels).toEqual(['A']);
  expect(await bench.states('A')).toEqual(['published']);
});
