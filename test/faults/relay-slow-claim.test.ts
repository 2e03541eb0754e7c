import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defaultTimings } from '../../src/relay/timings.ts';
import type { Database } from '../../src/store/database/database.ts';
import { leaseMs } from '../../src/store/lane/lease.ts';
import { laneFixture } from '../support/fixtures/lane-fixture.ts';

test('I13: a lane whose claims take longer than half a lease is still drained', {
  tags: ['no-lane-stops'],
}, async (context) => {
  const fixture = await laneFixture();
  context.onTestFinished(() => fixture.drop());
  const slow: Database = {
    ...fixture.database,
    query: async <Row>(text: string, values?: readonly unknown[]) => {
      const rows = await fixture.database.query<Row>(text, values);
      if (text.includes('outbox.claim(')) await delay(leaseMs / 2 + 300);
      return rows;
    },
  };
  await fixture.send('A');

  // Room for one claim that counts, and none that is discarded.
  await fixture.drain({ database: slow, timings: { ...defaultTimings, drainTimeoutMs: leaseMs / 2 } });

  expect(fixture.broker.labels).toEqual(['A']);
  expect(await fixture.states('A')).toEqual(['published']);
});
