import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

/** Each search asks two of them anew. */
const lanes = 120;

let fixture: LaneFixture;
let relay: TestRelay | undefined;
let searches: number;
/** The lane that the last search has left out, and that is searched anew last. */
let lastAnew: number | undefined;
/** The first search that has found work. */
let foundBy: number | undefined;
let deaf: boolean;
eachLane((made) => (fixture = made), { lanes });
beforeEach(async () => {
  [relay, searches, lastAnew, foundBy, deaf] = [undefined, 0, undefined, undefined, false];
});
afterEach(async () => {
  await relay?.stop();
});

/** A relay that knows that all lanes are quiet. */
async function idleRelay(checkIntervalMs: number): Promise<void> {
  const database: Database = {
    ...fixture.database,
    query: async <Row>(text: string, values?: readonly unknown[], repeated?: 'repeated') => {
      const rows = await fixture.database.query<Row>(text, values, repeated);
      if (text.includes('outbox.want_lanes(') && values?.[1] === false) {
        searches += 1;
        if (rows.some((row) => !(row as { readonly quiet: boolean }).quiet)) foundBy ??= searches;
        const known = values[6] as readonly number[];
        lastAnew = known.length > lanes - 3 ? known.at(-1) : undefined;
      }
      return deaf && text.includes('outbox.look(') ? rows.map((row) => ({ ...row, topic: null })) : rows;
    },
  };
  relay = await startTestRelay(fixture, { database, timings: { checkIntervalMs } });
  await until(() => lastAnew !== undefined);
}

/** Stores a message in the lane whose turn comes last. @returns the number of searches so far */
async function storeLast(xid: string): Promise<number> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, xid)
     values (gen_random_uuid(), 'orders', $1, '{}', 'ready', 'w', ${xid})`,
    [lastAnew],
  );
  return searches;
}

/** Waits until it is delivered. @returns how many searches it took to find it */
async function searchesUntilFound(before: number): Promise<number> {
  await until(() => fixture.broker.log.length === 1, 60_000);
  return (foundBy ?? Infinity) - before;
}

test('a message of which no look tells any news is delivered within the searches of one turn', {
  tags: ['recovers-by-itself'],
}, async () => {
  await idleRelay(50);
  deaf = true;

  const before = await storeLast('pg_current_xact_id()');

  // One may have been under way.
  expect(await searchesUntilFound(before)).toBeLessThanOrEqual(61);
});

test('after a restart of the server, which may assign transaction ids again, lanes wait for no turn', {
  tags: ['failover-costs-repeats-only'],
}, async () => {
  await idleRelay(250);

  await fixture.database.query(
    `create or replace function outbox.incarnation() returns timestamptz language sql stable as 'select pg_postmaster_start_time() - interval ''1 s'''`,
  );
  const before = await storeLast(`'3'::xid8`);

  expect(await searchesUntilFound(before)).toBeLessThan(30);
});
