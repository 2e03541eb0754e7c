import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { EpochFixture } from '../../support/fixtures/epoch-fixture.ts';
import {
  fullScansOf,
  functionPlanNodes,
  indexesOf,
  pagesOf,
  planNodes,
} from '../../support/fixtures/query-plan.ts';

const rowsPerEpoch = 40_000;
/** Down an index and into the table, per id and epoch; reading one epoch from end to end is more than all of them. */
const pagesPerProbe = 5;

let fixture: EpochFixture;

// Nothing is analyzed: statistics that are missing or old must not matter.
beforeAll(async () => {
  fixture = await EpochFixture.create();
  for (let epoch = 1; epoch <= 5; epoch += 1) {
    await fixture.database.query(
      `insert into outbox.processed (epoch, consumer_group, message_id, topic)
       select $1::bigint, 'g', md5($1::text || '/' || n), 'orders' from generate_series(1, $2::integer) n`,
      [String(epoch), rowsPerEpoch],
    );
    if (epoch < 5) await fixture.roll();
  }
});
afterAll(() => fixture.drop());

function arrayOf(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

async function pagesOfCall(call: string, values: readonly unknown[]): Promise<number> {
  return pagesOf(await planNodes(fixture.database, call, values));
}

test('reading ids probes one index per epoch and scans no table', async () => {
  const ids = Array.from({ length: 10 }, () => randomUUID());
  const nodes = await functionPlanNodes(fixture.database, 'read_processed', ['g', arrayOf(ids)]);

  expect(fullScansOf(nodes)).toEqual([]);
  expect(indexesOf(nodes)).toEqual([1, 2, 3, 4, 5].map((epoch) => `processed_${epoch}_pkey`));
  expect(pagesOf(nodes)).toBeLessThan(ids.length * 5 * pagesPerProbe);
});

test('noting ids touches as many pages as ids and epochs require, however full they are', async () => {
  const call = 'select * from outbox.mark_processed($1, $2, $3)';
  const ids = (count: number): string => arrayOf(Array.from({ length: count }, () => randomUUID()));
  const topics = arrayOf(Array.from({ length: 10 }, () => 'orders'));

  const one = await pagesOfCall(call, ['g', ids(1), '{orders}']);
  expect(one).toBeLessThan(6 * pagesPerProbe);
  const ten = await pagesOfCall(call, ['g', ids(10), topics]);
  expect(ten).toBeLessThan(10 * 6 * pagesPerProbe);
});

test('a single new id touches as many pages as the number of epochs requires', async () => {
  const call = 'select outbox.receive_one($1, $2, $3, $4, null, null)';
  expect(await pagesOfCall(call, ['g', randomUUID(), 'orders', '30000'])).toBeLessThan(7 * pagesPerProbe);
});

test('a plan that a connection made while an epoch was empty is as good once the epoch is full', async () => {
  const ids = arrayOf(Array.from({ length: 10 }, () => randomUUID()));
  const taken: number[] = [];
  const work = async (sql: Sql): Promise<never> => {
    await sql.query('select outbox.roll_processed(0, 300, 0)');
    await sql.query('analyze outbox.processed_6');
    const read = async (): Promise<number> =>
      pagesOf(await planNodes(sql, 'select * from outbox.read_processed($1, $2)', ['g', ids]));
    // Left to itself, a connection settles on a plan after five calls.
    for (let call = 0; call < 8; call += 1) await read();
    await sql.query(
      `insert into outbox.processed (consumer_group, message_id) select 'g', md5(n::text) from generate_series(1, $1::integer) n`,
      [rowsPerEpoch],
    );
    for (let call = 0; call < 3; call += 1) taken.push(await read());
    throw new Error('taken back');
  };
  await fixture.database.transaction(work).catch((error: unknown) => {
    if (taken.length === 0) throw error;
  });

  // DDL in any database of the server can have a connection read the catalog anew, in one of the calls. A bad plan stays bad.
  expect(Math.min(...taken)).toBeLessThan(10 * 6 * pagesPerProbe);
});
