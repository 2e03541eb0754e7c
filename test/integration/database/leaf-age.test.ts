import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { leavesOf, turnNoLeaves } from '../../support/fixtures/leaves.ts';

turnNoLeaves();

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

test.each([
  { column: 'created_at', meaning: 'sent' },
  { column: 'updated_at', meaning: 'changed' },
])('a leaf is as old as its newest message: the one that was $meaning last', async ({ column }) => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('A');
  await fixture.send('B');
  await fixture.drain();
  // Thirty hours ago, but for one time of one message.
  await at.age('30 hours');
  await database.query(`update outbox.log set ${column} = ${column} + interval '29 hours' where id = $1`, [
    fixture.idOf('A'),
  ]);
  expect(await at.archive()).toMatchObject({ archived: 0 });
  expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log']);

  await at.age('24 hours');
  expect(await at.archive()).toMatchObject({ archived: 2 });
});
