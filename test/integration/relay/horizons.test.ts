import { afterAll, beforeAll, expect, test } from 'vitest';
import { markTold, untoldMessages } from '../../../src/store/lane/starts.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import {
  fullScansOf,
  functionPlanNodes,
  pagesOf,
  stopAutovacuum,
} from '../../support/fixtures/query-plan.ts';

const beyond = 50_000;
const within = 10_000;
/** Pages of a search that finds little: a few per topic. */
const fewPages = 60;
/** Of one for 200 messages: each is read by itself, and its topic may have as many. */
const pagesOfARound = 2 * 200 * 4 + fewPages;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let fixture: LaneFixture;
beforeAll(async () => {
  fixture = await laneFixture();
  await stopAutovacuum(fixture.database, ['message', 'topic']);
  await fixture.database.query(
    `insert into outbox.topic
     select (jsonb_populate_record(t, jsonb_build_object('name', more.topic, 'horizon', more.within))).* from outbox.topic t,
       (values ('rare', '30 days'), ('zero', '5 minutes')) more(topic, within) where t.name = 'orders'`,
  );
  await fixture.database.query(`update outbox.topic set horizon = '5 minutes' where name = 'orders'`);
});
afterAll(() => fixture.drop());

async function storeOf(topic: string, afterMs: number): Promise<string> {
  const [stored] = await storeMessages(fixture.database, topic, [{ payload: '{}', afterMs }]);
  return stored?.id ?? '';
}

/** Messages of the topics by turns; `after`: each is due by its number later than the one before. */
async function storeWaiting(topics: readonly string[], count: number, after: string): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at)
     select gen_random_uuid(), ($2::text[])[1 + g % 2], 0, 'k' || g % 1000, '{}', 'waiting', 'w', outbox.clock() + ${after} * g
     from generate_series(1, $1::integer) g`,
    [count, [...topics]],
  );
}

const plan = () => functionPlanNodes(fixture.database, 'untold_messages', ['200', '{}', null]);

const untold = async (limit = 100, without: readonly string[] = []) =>
  (await untoldMessages(fixture.database, limit, without)).map(({ id }) => id);

test('a message is found once within the horizon of its topic, in the order of due times, also of an unknown topic', async () => {
  const late = await storeOf('rare', 20 * dayMs);
  const unknown = await storeOf('unknown', 20 * hourMs);
  const soon = await storeOf('orders', 240_000);
  const sooner = await storeOf('zero', 200_000);
  for (const [topic, afterMs] of [
    ['orders', hourMs],
    ['zero', dayMs],
    ['unknown', 2 * dayMs],
    ['rare', 40 * dayMs],
  ] as const)
    await storeOf(topic, afterMs);

  expect(await untold()).toEqual([sooner, soon, unknown, late]);
  expect(await untold(2)).toEqual([sooner, soon]);
  expect(await untold(2, [sooner, unknown])).toEqual([soon, late]);
  const told = await untoldMessages(fixture.database, 3);
  await markTold(fixture.database, told);
  expect(await untold()).toEqual([late]);
  await fixture.database.query('truncate outbox.message');
});

test('50,000 messages beyond the horizon of their topic add no cost to a search for a topic with a longer one, before they are counted and then', {
  tags: ['history-slows-nothing'],
}, async () => {
  await fixture.database.query('truncate outbox.message');
  await fixture.database.query('analyze outbox.message, outbox.topic');
  await storeWaiting(['orders', 'zero'], beyond, `interval '1 hour' + interval '1 ms'`);
  for (const counted of [false, true]) {
    if (counted) await fixture.database.query('analyze outbox.message');
    const nothing = await plan();
    expect(nothing[0]?.['Actual Rows']).toBe(0);
    expect(fullScansOf(nothing)).not.toContain('message');
    expect(pagesOf(nothing)).toBeLessThan(fewPages);
  }

  await storeWaiting(['rare', 'orders'], within, `interval '10 ms'`);
  for (const counted of [false, true]) {
    if (counted) await fixture.database.query('analyze outbox.message');
    const round = await plan();
    expect(round[0]?.['Actual Rows']).toBe(200);
    expect(pagesOf(round)).toBeLessThan(pagesOfARound);
  }
});
