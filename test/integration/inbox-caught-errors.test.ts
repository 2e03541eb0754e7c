import { afterEach, expect, test } from 'vitest';
import { MemoryInbox } from '../support/fixtures/memory-inbox.ts';
import { until } from '../support/fixtures/until.ts';

let inbox: MemoryInbox;
afterEach(() => inbox.end());

// PostgreSQL answers the COMMIT of a transaction in which a statement has failed with a ROLLBACK, and no error.
test.each([
  ['alone', {}],
  ['in a batch', { batch: { size: 10 } }],
  ['handled together', { batch: { size: 10 }, inBatches: true }],
])('a message whose handler caught an error of the database is not lost: %s', async (_, how) => {
  inbox = await MemoryInbox.create();
  const running = await inbox.consume({
    ...how,
    quickRetries: [],
    retry: [],
    after: async ({ payload: { n } }, tx) => {
      if (n === 2) await tx.$executeRaw`select 1 / 0`.catch(() => undefined);
    },
  });
  inbox.feed({ n: 1 }, { n: 2 }, { n: 3 });

  await until(() => running.counts().handled + running.counts().failed === 3);
  expect(running.counts()).toMatchObject({ handled: 2, failed: 1 });
  expect(await inbox.effects()).toEqual(expect.arrayContaining([1, 3]));
  expect(await inbox.effects()).toHaveLength(2);
  expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'failed', reason: 'error' }]);
});
