import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { deleteBatches } from '../../../src/store/retention/deletes.ts';
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

test('the time of an empty leaf never passes that of a batch whose message comes into it meanwhile', {
  tags: ['archive-blocks-nothing'],
}, async () => {
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

test('records of batches stay with a leaf that was opened before the clock was set back, and no longer', {
  tags: ['archive-blocks-nothing'],
}, async () => {
  const { fixture } = at;
  const { database } = fixture;
  const remove = async () => {
    const page = { after: null, ageMs: 0, limit: 100 };
    const { deleted } = await deleteBatches(database, fixture.lane, page);
    return [(await leavesOf(database))[0], deleted];
  };
  await fixture.send('old');
  await fixture.drain();
  await at.age('2 hours');
  await database.query(`update outbox.leaf set opened_at = opened_at + interval '1 hour'`);
  expect(await remove()).toEqual(['log_1 log', 0]);
  await turnLeaf(database);
  expect(await remove()).toEqual(['log_1 log_passed', 0]);
  await at.age('30 days');
  expect(await at.archive()).toMatchObject({ archived: 1 });
  expect(await remove()).toEqual(['log_1 log_history', 0]);

  await at.age('91 days');
  expect(await at.archive({ batchesMs: 365 * 24 * 3_600_000 })).toMatchObject({ dropped: 1 });
  expect(await remove()).toEqual(['log_2 log', 1]);
});
