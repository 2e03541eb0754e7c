import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { giveUp, holdLanes } from '../../../src/store/message/confirm-overdue.ts';
import { verifyStates } from '../../../src/store/verify/states.ts';
import { blockedOf, claimedAfter, owner, settled } from '../../support/fixtures/claims-by-hand.ts';
import { type ConfirmFixture, confirmFixture } from '../../support/fixtures/confirm-fixture.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { failAll } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';

let confirming: ConfirmFixture;
let fixture: LaneFixture;
beforeEach(async () => {
  confirming = await confirmFixture({
    exhausted: 'block-key',
    confirm: { group: 'shop', receiptTimeout: '10s', maxSends: 1 },
  });
  fixture = confirming.lanes;
});
afterEach(() => fixture.drop());

/** Whether the lane's row says that none of its messages is failed. */
async function unfailed(): Promise<boolean> {
  const [row] = await fixture.database.query<{ unfailed: boolean }>(
    'select failed_xid is null as unfailed from outbox.lane',
  );
  if (row === undefined) throw new Error('The lane is missing.');
  return row.unfailed;
}

/** A message of the key K was sent to the end of its sends, and its group has passed it without a receipt. */
async function passedWithoutWord(): Promise<void> {
  await confirming.publish('K', 'K1');
  expect(await unfailed()).toBe(true);
  await confirming.expire('K1');
  confirming.passed = '100';
}

/** Any earlier failure; it is over. */
const earlierFailure = () =>
  fixture.database.query('update outbox.lane set failed_xid = pg_current_xact_id()');

async function keepsBack(): Promise<void> {
  expect(await unfailed()).toBe(false);
  await fixture.send('K2', { key: 'K' });
  expect(blockedOf(await claimedAfter(fixture))).toEqual([true]);
}

test('where nothing has failed, a message that fails keeps its key back, and claims ask no more once that is over', {
  tags: ['order-per-key'],
}, async () => {
  await confirming.publish('other', 'other');
  expect(await unfailed()).toBe(true);
  await failAll(fixture, ['K1'], 'K');
  expect(await unfailed()).toBe(false);

  await confirming.publish('K', 'K2');
  expect(await fixture.states('K1', 'K2')).toEqual(['failed', 'blocked']);
  expect((await verifyStates(fixture.database)).violations).toBe(0);

  await confirming.receipt(['K1']);
  await fixture.drain();
  // Another owner, which looks at once: one that has just looked rests.
  await fixture.send('K3', { key: 'K' });
  await fixture.drain({ lane: { ...fixture.lane } });
  expect(fixture.broker.labels).toEqual(['other', 'K2', 'K3']);
  expect(await unfailed()).toBe(true);
});

/** A claim that finds nothing failed, although something was; it is settled after what happens meanwhile. */
async function settledAfter(meanwhile: () => Promise<unknown>): Promise<void> {
  await fixture.send('other', { key: 'other' });
  const claimed = await claimedAfter(fixture);
  expect(claimed.unfailed).toBe(true);
  await meanwhile();
  expect(await settled(fixture, claimed)).toBe(true);
}

test('a message that is given up between a claim that found nothing failed and its settle keeps its key back', {
  tags: ['order-per-key'],
}, async () => {
  await passedWithoutWord();
  await earlierFailure();
  await acquireLane(fixture.database, fixture.lane, owner);
  await settledAfter(() => confirming.overdue());
  expect(await fixture.states('K1')).toEqual(['failed']);

  await keepsBack();
});

test('a message that is being given up during a claim that finds nothing failed keeps its key back', {
  tags: ['order-per-key'],
}, async () => {
  await passedWithoutWord();
  await earlierFailure();
  await acquireLane(fixture.database, fixture.lane, owner);
  const open = await fixture.begin();
  const ids = await holdLanes(open, fixture.topic, [fixture.idOf('K1')]);
  expect(await giveUp(open, ids, 'shop')).toMatchObject([{ key: 'K' }]);
  await settledAfter(() => open.commit());

  await keepsBack();
});

test('what found nothing failed says so in the row of its lane', async () => {
  await earlierFailure();
  await acquireLane(fixture.database, fixture.lane, owner);
  await settledAfter(() => Promise.resolve());

  expect(await unfailed()).toBe(true);
});

/** Whether a transaction of this database waits for a lock. */
async function waitsForLock(): Promise<boolean> {
  const waiting = await fixture.database.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return waiting.length > 0;
}

test('what is to be given up waits for no settle of its lane, and is given up by the next round', async () => {
  await passedWithoutWord();
  const settling = await fixture.begin();
  await settling.query('select from outbox.lane for update');

  let over = false;
  const round = confirming.overdue().finally(() => {
    over = true;
  });
  await until(async () => over || (await waitsForLock()));
  const waited = !over;
  await settling.rollback();
  await round;
  expect(waited).toBe(false);
  expect(await fixture.states('K1')).toEqual(['published']);

  await confirming.overdue();
  expect(await fixture.states('K1')).toEqual(['failed']);
  expect(confirming.events.filter(({ type }) => type === 'messages-unconfirmed')).toHaveLength(1);
});

test('what failed under another policy keeps its key back once failed messages block', {
  tags: ['order-per-key'],
}, async () => {
  await fixture.drop();
  fixture = await laneFixture();
  await failAll(fixture, ['K1'], 'K');
  await fixture.send('other', { key: 'other' });
  await fixture.drain();

  const rules = { ...fixture.rules, exhausted: 'block-key' } as const;
  await fixture.send('K2', { key: 'K' });
  await fixture.drain({ route: { name: fixture.topic, rules, transport: fixture.broker } });
  expect(await fixture.states('K1', 'K2')).toEqual(['failed', 'blocked']);
});

test('a lane that knows nothing of what failed in it is named by a verification', async () => {
  await failAll(fixture, ['K1'], 'K');
  expect((await verifyStates(fixture.database)).violations).toBe(0);
  await fixture.database.query('update outbox.lane set failed_xid = null');

  expect(await verifyStates(fixture.database)).toMatchObject({
    violations: 1,
    first: [{ id: fixture.idOf('K1'), what: 'Its lane says that no message of it is failed.' }],
  });
});
