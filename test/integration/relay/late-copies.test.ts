// @module-tag apart
import { expect, test } from 'vitest';
import { adopt } from '../../../src/operations/delivery/adopt.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { amidTheFirst, each, expectTheRest } from '../../support/fixtures/late-stage.ts';
import { anotherCluster, movedFixture } from '../../support/fixtures/moved-fixture.ts';
import { VerifyFixture } from '../../support/fixtures/verify-fixture.ts';

const elsewhere = anotherCluster();
const { ends } = elsewhere;

test('amid a late transaction a verification expects in the log what is sent, and nothing else', {
  tags: ['no-loss'],
}, async () => {
  const world = await VerifyFixture.create();
  ends.push(() => world.drop());
  await world.record(async () => {
    const second = await amidTheFirst(world.fixture);
    await second.commit();
  });

  const { ok, invariants } = await world.check({ maxDuplicates: 0 });
  expect(invariants.filter((result) => !result.ok)).toEqual([]);
  expect(ok).toBe(true);
  expect(invariants.find(({ invariant }) => invariant === 'I1 no loss')).toMatchObject({
    checked: world.log.length,
  });

  world.log.pop();
  expect(await world.broken('I1 no loss')).toMatchObject({ violations: 1 });
});

test('a copy that was made amid a late transaction sends the rest in another cluster, once it is adopted', {
  tags: ['duplicates-bounded'],
}, async () => {
  const fixture = await laneFixture();
  ends.push(() => fixture.drop());
  const second = await amidTheFirst(fixture);
  await second.commit();
  const sent = fixture.broker.labels;
  const copy = await movedFixture(fixture, elsewhere.url, ends);

  expect(await adopt(copy.database, { actor: 'test' })).toMatchObject({
    settled: sent.length,
    ready: 2 * each + 1 - sent.length,
  });
  await expectTheRest(copy, { before: sent });
});
