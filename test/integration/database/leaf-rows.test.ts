import { afterEach, beforeEach, expect, test } from 'vitest';
import { archiveLeaf } from '../../../src/store/retention/leaf.ts';
import { verifyStructure } from '../../../src/store/verify/structure.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';

turnNoLeaves();

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

test.each(['log', 'log_passed'])(
  'a leaf that is archived by its row alone, a child of %s, keeps its messages, and its row is corrected',
  { tags: ['no-loss'] },
  async (parent) => {
    const { fixture } = at;
    const { database } = fixture;
    await fixture.send('there');
    if (parent === 'log_passed') await fixture.drain();
    await turnLeaf(database);
    await turnLeaf(database);
    expect(await leavesOf(database)).toEqual([`log_1 ${parent}`, 'log_2 log']);
    await database.query(
      `update outbox.leaf set running = '{}', messages = 1, newest_at = now() - interval '95 days', archived_at = now() - interval '91 days'
     where n = 1`,
    );

    expect(await at.archive()).toMatchObject({ dropped: 0, inUse: 0 });
    expect(await verifyStructure(database)).toMatchObject({ violations: 0 });
    await fixture.drain();
    await turnLeaf(database);
    expect(await at.whereabouts('there')).toEqual([expect.stringMatching(/^(?:live|archived) published$/)]);
    expect(fixture.broker.labels).toEqual(['there']);
  },
);

test('a leaf that is passed by its row alone is not archived, and claims read it', async () => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('there');
  await turnLeaf(database);
  await database.query(`update outbox.leaf set running = '{}', messages = 1, newest_at = now() where n = 1`);

  expect(await archiveLeaf(database, '1')).toBe('behind');
  expect(await leavesOf(database)).toEqual(['log_1 log', 'log_2 log']);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['there']);
  await turnLeaf(database);
  expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log']);
});
