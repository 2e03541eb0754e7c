import { expect, test } from 'vitest';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { emptyHands } from '../../../src/store/lane/lanes-empty.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

const by = { actor: 'test', timeout: 30_000 };

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** A key that belongs to this lane of four, and to lane 1 of two. */
async function keyOf(lane: 1 | 3): Promise<string> {
  const [row] = await fixture.database.query<{ key: string }>(
    `select 'k' || n as key from generate_series(1, 100) n
     where outbox.lane_of('k' || n, null, 4) = $1 and outbox.lane_of('k' || n, null, 2) = 1 limit 1`,
    [lane],
  );
  return row?.key ?? '';
}

test('a key freed during a change continues in its new lane', {
  tags: ['unblocked-key-continues'],
}, async () => {
  const { database, topic } = fixture;
  const key = await keyOf(1);
  fixture.broker.judge = (message) => (labelOf(message) === 'head' ? 'reject' : 'store');
  for (const label of ['head', 'follower']) await fixture.send(label, { key });
  await fixture.drain();
  expect(await fixture.states('head', 'follower')).toEqual(['retrying', 'blocked']);
  const change = await beginChange(database, { topic, kind: 'lanes', wanted: 4 }, by);
  await emptyHands(database, fixture.lane);
  await switchLanes(database, change, by);
  expect(await fixture.cancel('head')).toBe('canceled');
  expect(await replaceMessages(database, change)).toBe(1);

  expect(await endLanesChange(database, change, by)).toBe(true);

  expect((await wantedLanes(database, [topic])).map(({ lane }) => lane)).toEqual([1]);
  await fixture.drain({ lane: { topic, lane: 1 } });
  expect(await fixture.states('head', 'follower')).toEqual(['canceled', 'published']);
});

test('a key that was freed before a change continues in a lane that has found no freed keys since then', {
  tags: ['unblocked-key-continues'],
}, async () => {
  fixture = await fixture.renewed({ lanes: 4 });
  const { database, topic } = fixture;
  const drained = (lane: number) => fixture.drain({ lane: { topic, lane } });
  fixture.broker.judge = (message) => (labelOf(message) === 'follower' ? 'store' : 'reject');
  await fixture.send('other', { key: await keyOf(1) });
  await drained(1);
  for (const label of ['head', 'follower']) await fixture.send(label, { key: await keyOf(3) });
  await drained(3);
  expect(await fixture.states('other', 'head', 'follower')).toEqual(['retrying', 'retrying', 'blocked']);
  for (const label of ['head', 'other']) expect(await fixture.cancel(label)).toBe('canceled');
  await drained(1);
  const known = 'select n from outbox.lane where freed_snapshot is not null';
  expect(await database.query(known)).toEqual([{ n: 1 }]);

  const change = await beginChange(database, { topic, kind: 'lanes', wanted: 2 }, by);
  for (const lane of [0, 1, 2, 3]) await emptyHands(database, { topic, lane });
  await switchLanes(database, change, by);
  expect(await replaceMessages(database, change)).toBe(1);
  expect(await endLanesChange(database, change, by)).toBe(true);

  await drained(1);
  expect(await fixture.states('head', 'follower')).toEqual(['canceled', 'published']);
});
