import { expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { emptyHands } from '../../../src/store/lane/lanes-empty.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { verifyStates } from '../../../src/store/verify/states.ts';
import { blockedOf, claimedAfter, owner, settled } from '../../support/fixtures/claims-by-hand.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** Whether the row of each lane says that none of its messages is retrying or blocked, or that none is failed. */
async function unblockedLanes(by = 'blocking_xid'): Promise<readonly boolean[]> {
  const rows = await fixture.database.query<{ unblocked: boolean }>(
    `select ${by} is null as unblocked from outbox.lane order by n`,
  );
  return rows.map(({ unblocked }) => unblocked);
}

/** The lane has settled a message of a key, and knows that nothing blocks. */
async function foundUnblocked(): Promise<void> {
  await fixture.send('other', { key: 'other' });
  await fixture.drain();
  expect(await unblockedLanes()).toEqual([true]);
  fixture.broker.log.length = 0;
}

test('where nothing has blocked, a message that begins to retry keeps its key back', {
  tags: ['order-per-key'],
}, async () => {
  await foundUnblocked();
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await fixture.send('K1', { key: 'K' });
  await fixture.drain();
  expect(await unblockedLanes()).toEqual([false]);

  await fixture.send('K2', { key: 'K' });
  await fixture.drain();
  expect(await fixture.states('K1', 'K2')).toEqual(['retrying', 'blocked']);
  fixture.broker.judge = () => 'store';
  await fixture.release('K1');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['K1', 'K2']);
  expect((await verifyStates(fixture.database)).violations).toBe(0);
});

test('a claim ahead that found nothing that blocks does not hide a message that its batch before made retry', {
  tags: ['order-per-key'],
}, async () => {
  await acquireLane(fixture.database, fixture.lane, owner);
  await fixture.send('K1', { key: 'K' });
  const first = await claimedAfter(fixture);
  await fixture.send('other', { key: 'other' });
  const ahead = await claimedAfter(fixture, first);
  expect(ahead).toMatchObject({ unblocked: true, messages: [{ key: 'other' }] });

  expect(await settled(fixture, first, 'retrying')).toBe(true);
  expect(await settled(fixture, ahead)).toBe(true);

  expect(await unblockedLanes()).toEqual([false]);
  await fixture.send('K2', { key: 'K' });
  expect(blockedOf(await claimedAfter(fixture))).toEqual([true]);
});

test('a claim during a settle that makes a message retry does not hide it', {
  tags: ['order-per-key'],
}, async () => {
  await acquireLane(fixture.database, fixture.lane, owner);
  await fixture.send('K1', { key: 'K' });
  const first = await claimedAfter(fixture);
  await fixture.send('other', { key: 'other' });
  const open = await fixture.begin();
  const settling: Database = { ...fixture.database, transaction: (work) => work(open) };
  expect(await settled(fixture, first, 'retrying', settling)).toBe(true);
  const during = await claimedAfter(fixture, first);
  expect(during.unblocked).toBe(true);
  await open.commit();

  expect(await settled(fixture, during)).toBe(true);

  expect(await unblockedLanes()).toEqual([false]);
  await fixture.send('K2', { key: 'K' });
  expect(blockedOf(await claimedAfter(fixture))).toEqual([true]);
});

test('a settle that crashes before it is committed leaves the lane as it was, and the key in order', async () => {
  await foundUnblocked();
  await acquireLane(fixture.database, fixture.lane, owner);
  await fixture.send('K1', { key: 'K' });
  const crashing: Database = {
    ...fixture.database,
    transaction: (work) =>
      fixture.database.transaction(async (sql) => {
        await work(sql);
        throw new Error('crashed');
      }),
  };
  await expect(settled(fixture, await claimedAfter(fixture), 'retrying', crashing)).rejects.toThrow(
    'crashed',
  );
  expect(await unblockedLanes()).toEqual([true]);

  await fixture.send('K2', { key: 'K' });
  const again = await claimedAfter(fixture);
  expect(again.messages.map(({ id }) => id)).toEqual([fixture.idOf('K1'), fixture.idOf('K2')]);
  expect(await settled(fixture, again, 'retrying')).toBe(true);
  expect(await unblockedLanes()).toEqual([false]);
});

test.each([
  { state: 'retrying', verdict: 'reject', by: 'blocking_xid' },
  { state: 'failed', verdict: 'permanent', by: 'failed_xid' },
] as const)(
  'a message that is $state in another lane keeps its key back in the one that it comes to by a change',
  { tags: ['order-per-key'] },
  async ({ state, verdict, by }) => {
    fixture = await fixture.renewed({ lanes: 4, exhausted: 'block-key' });
    const { database, topic } = fixture;
    const [keys] = await database.query<{ keys: readonly string[] }>(
      `select array(select min('k' || n) from generate_series(1, 100) n where outbox.lane_of('k' || n, null, 2) = 1
       group by outbox.lane_of('k' || n, null, 4) order by outbox.lane_of('k' || n, null, 4)) as keys`,
    );
    const [stays = '', moves = ''] = keys?.keys ?? [];
    fixture.broker.judge = (message) => (labelOf(message) === 'head' ? verdict : 'store');
    await fixture.send('other', { key: stays });
    await fixture.drain({ lane: { topic, lane: 1 } });
    await fixture.send('head', { key: moves });
    await fixture.drain({ lane: { topic, lane: 3 } });
    expect(await unblockedLanes(by)).toEqual([false, true, false, false]);

    const change = await beginChange(database, { topic, kind: 'lanes', wanted: 2 }, { actor: 'test' });
    for (const lane of [0, 1, 2, 3]) await emptyHands(database, { topic, lane });
    await switchLanes(database, change, { actor: 'test' });
    expect(await replaceMessages(database, change)).toBe(1);
    expect(await endLanesChange(database, change, { actor: 'test' })).toBe(true);

    await fixture.send('follower', { key: moves });
    await fixture.drain({ lane: { topic, lane: 1 } });
    expect(await fixture.states('head', 'follower')).toEqual([state, 'blocked']);
    expect((await verifyStates(database)).violations).toBe(0);
  },
);

test('while no claim looks whether anything blocks, a message of a blocked key waits and one of another key goes', async () => {
  await acquireLane(fixture.database, fixture.lane, owner);
  await fixture.send('K1', { key: 'K' });
  await settled(fixture, await claimedAfter(fixture), 'retrying');
  await fixture.send('K2', { key: 'K' });
  await fixture.send('L1', { key: 'L' });

  const looking = await claimedAfter(fixture, undefined, fixture.lane);
  const resting = await claimedAfter(fixture, undefined, fixture.lane);

  expect([looking, resting].map(blockedOf)).toEqual([
    [true, false],
    [true, false],
  ]);
});

test('a lane that knows nothing of what is retrying in it is named by a verification', async () => {
  await acquireLane(fixture.database, fixture.lane, owner);
  await fixture.send('K1', { key: 'K' });
  await settled(fixture, await claimedAfter(fixture), 'retrying');
  expect((await verifyStates(fixture.database)).violations).toBe(0);
  await fixture.database.query('update outbox.lane set blocking_xid = null');

  expect(await verifyStates(fixture.database)).toMatchObject({
    violations: 1,
    first: [{ id: fixture.idOf('K1'), what: 'Its lane says that no message of it is retrying or blocked.' }],
  });
});
