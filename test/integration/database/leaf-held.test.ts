import { expect, test } from 'vitest';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { lockedAtOnce } from '../../support/fixtures/locked-at-once.ts';

turnNoLeaves();

test('a step of a leaf that somebody reads for long lets others lock its table at once, as a parallel dump does', {
  tags: ['archive-blocks-nothing'],
}, async (context) => {
  const fixture = await laneFixture();
  context.onTestFinished(() => fixture.drop());
  const { database } = fixture;
  await fixture.send('old');
  await fixture.drain();
  const early = await fixture.begin();
  await early.query('select pg_current_xact_id()');
  await turnLeaf(database);
  await early.commit();
  const reader = await fixture.begin();
  await reader.query('select count(*) from outbox.log_1');
  const over = new AbortController();
  const turning = turnLeaf(database).finally(() => over.abort());
  while (!over.signal.aborted) await lockedAtOnce(fixture, 'log_1');

  expect(await turning).toMatchObject({ inUse: 1 });
  await reader.commit();
  expect(await turnLeaf(database)).toMatchObject({ inUse: 0 });
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
});
