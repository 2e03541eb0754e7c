import { beforeEach, expect, test } from 'vitest';
import { changeLanes, type TopicChangeAnswer } from '../../../src/operations/delivery/lanes.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import type { OpenTransaction } from '../../support/fixtures/open-transaction.ts';

let fixture: LaneFixture;
let old: OpenTransaction;
eachLane((made) => (fixture = made));
beforeEach(async () => {
  old = await fixture.begin();
  await fixture.send('A', {}, old);
});

const change = (lanes: number, timeout: number): Promise<TopicChangeAnswer> =>
  changeLanes(fixture.database, fixture.topic, lanes, { actor: 'test', timeout });

/** A transaction that has read the number of lanes. */
async function begin(): Promise<OpenTransaction> {
  const begun = await fixture.begin();
  await begun.query('select lanes from outbox.topic');
  return begun;
}

test('a change that ran out of time waits for no transaction that began meanwhile', {
  tags: ['abandoned-lanes-completed'],
}, async () => {
  expect(await change(3, 300)).toMatchObject({ waitingFor: 'transactions', who: { length: 1 } });
  const later = await begin();
  expect(await change(3, 300)).toMatchObject({ waitingFor: 'transactions', who: { length: 1 } });
  await old.commit();

  expect(await change(3, 15_000)).toMatchObject({ done: true });
  await later.rollback();
});

test('a change that replaces another waits also for transactions that began between them', {
  tags: ['order-per-key'],
}, async () => {
  expect(await change(2, 300)).toMatchObject({ waitingFor: 'transactions', who: { length: 1 } });
  const later = await begin();
  expect(await change(3, 300)).toMatchObject({ waitingFor: 'transactions', who: { length: 2 } });
  await old.commit();
  expect(await change(3, 300)).toMatchObject({ waitingFor: 'transactions', who: { length: 1 } });
  await later.commit();

  expect(await change(3, 15_000)).toMatchObject({ done: true });
});
