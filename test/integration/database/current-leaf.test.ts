import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';

turnNoLeaves();

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

test('an empty leaf is not closed, and relays open one leaf together', async () => {
  const { database } = at.fixture;
  await at.age('30 days');
  await at.archive();
  expect(await leavesOf(database)).toEqual(['log_1 log']);

  await at.fixture.send('first');
  await Promise.all(Array.from({ length: 5 }, () => at.archive({}, { leafMs: 0 })));
  expect(await leavesOf(database)).toEqual(['log_1 log', 'log_2 log']);
});

test('the time of an empty leaf never passes that of a batch whose message comes into it meanwhile', async () => {
  const { fixture } = at;
  const { database } = fixture;
  let renewals = 0;
  /** As a relay that is frozen before it renews the time. */
  const late: Database = {
    ...database,
    query: async (text, values, repeated) => {
      if (text.includes('set opened_at')) {
        renewals += 1;
        await fixture.send('meanwhile');
        await fixture.drain();
      }
      return database.query(text, values, repeated);
    },
  };

  await turnLeaf(late);
  expect(renewals).toBe(1);
  expect(
    await database.query(
      'select f.opened_at <= b.published_at as kept from outbox.batch b cross join outbox.leaf f where f.n = 1',
    ),
  ).toEqual([{ kept: true }]);
  expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log']);
});
