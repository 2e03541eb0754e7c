import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { once } from '../../../src/consumer.ts';
import { clientOf, fromQuery, send, topic } from '../../../src/index.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { sqlOf } from '../../../src/store/database/transaction.ts';
import { readProcessed } from '../../../src/store/inbox/processed.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { sentIn } from '../../../src/testing.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';

let made: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  made = await createTestDatabase();
  const types = { getTypeParser: () => (text: unknown) => text };
  pool = new pg.Pool({ connectionString: made.url, types });
});

afterAll(async () => {
  await pool.end();
  await made.drop();
});

const arriving = (...ids: readonly string[]) => ids.map((id) => ({ id, topic: 't', key: null }));

test('a client that leaves every value as text gets the same answers about arrivals and processed ids', async () => {
  const asked = <Result>(question: (sql: Sql) => Promise<Result>) =>
    clientOf(pool).$transaction((tx) => question(sqlOf(tx)));
  const arrivals = (...ids: readonly string[]) => asked((sql) => noteArrivals(sql, 'g', arriving(...ids)));

  expect(await arrivals('a', 'b')).toEqual(['new', 'new']);
  expect(await arrivals('a', 'c')).toEqual(['processed', 'new']);
  expect(await arrivals('c')).toEqual(['processed']);
  for (const ids of [
    ['a', 'b', 'x'],
    ['a', 'x', 'y', 'z'],
  ]) {
    const known = await asked((sql) => readProcessed(sql, 'g', ids));
    expect(known).toEqual(new Set(ids.filter((id) => 'abc'.includes(id))));
  }
});

test('a client that leaves every value as text does work once', async () => {
  let works = 0;
  const work = async (): Promise<number> => (works += 1);
  const twice = () => clientOf(pool).$transaction((tx) => once(tx, 'works', 'a', work));

  expect([await twice(), await twice()]).toEqual([{ duplicate: false, result: 1 }, { duplicate: true }]);
  expect(works).toBe(1);
});

test('a client that leaves every value as text shows what a transaction has sent', async () => {
  const dueAt = new Date(Date.now() + 3_600_000);
  const sent = await clientOf(pool).$transaction(async (tx) => {
    await send(tx, topic('plain', z.number()), 1);
    await send(tx, topic('later', z.number()), 2, { at: dueAt, headers: { a: 'b' }, key: 'k', ref: 'r' });
    return sentIn(tx);
  });

  const id = expect.stringMatching(/^[\da-f-]{36}$/);
  const plain = {
    id,
    topic: 'plain',
    key: null,
    ref: null,
    payload: 1,
    headers: null,
    state: 'ready',
    dueAt: null,
  };
  expect(sent).toEqual([
    plain,
    {
      ...plain,
      topic: 'later',
      key: 'k',
      ref: 'r',
      payload: 2,
      headers: { a: 'b' },
      state: 'waiting',
      dueAt,
    },
  ]);
});

/** What a client makes of rows. */
type Change = (rows: readonly object[]) => readonly unknown[];

test.each<readonly [string, Change]>([
  ['drops rows', () => []],
  ['returns numbers', (rows) => [rows.length]],
  ['leaves out the columns', (rows) => rows.map(() => ({}))],
  ['returns columns by number', (rows) => rows.map((row) => Object.values<unknown>({ ...row }))],
  ['parses text of JSON', mapping((value) => JSON.parse(value))],
  ['quotes texts', mapping((value) => JSON.stringify(value))],
  ['truncates texts', mapping((value) => value.slice(0, 3))],
  ['changes texts to upper case', mapping((value) => value.toUpperCase())],
])('through a client that %s, no message counts as new', { tags: ['effect-once'] }, async (_, changed) => {
  await clientOf(pool).$transaction((tx) => noteArrivals(sqlOf(tx), 'misread', arriving('abcdef', 'b')));
  const client = await pool.connect();
  const tx = fromQuery(async (text, values) => changed((await client.query<object>(text, values)).rows));
  const within = async (question: (sql: Sql) => Promise<unknown>): Promise<unknown> => {
    await client.query('begin');
    const outcome = await question(sqlOf(tx)).catch((error: unknown) => error);
    await client.query('rollback');
    return outcome;
  };
  let works = 0;
  const outcomes = [
    await within((sql) => noteArrivals(sql, 'misread', arriving('abcdef', 'c'))),
    await within((sql) => noteArrivals(sql, 'misread', arriving('abcdef'))),
    await within((sql) => readProcessed(sql, 'misread', ['abcdef'])),
    await within(() => once(tx, 'misread', 'abcdef', async () => (works += 1))),
    await within(() => once(tx, 'misread', 'new', async () => (works += 1))),
  ];
  client.release();

  // What gets through unchanged is told truly.
  const right: readonly unknown[] = [
    ['processed', 'new'],
    ['processed'],
    new Set(['abcdef']),
    { duplicate: true },
    { duplicate: false, result: 1 },
  ];
  const unfit: unknown = expect.objectContaining({ code: 'OUTBOX_CLIENT_UNFIT' });
  expect(outcomes).toEqual(outcomes.map((outcome, n) => (outcome instanceof Error ? unfit : right[n])));
  expect(outcomes[0]).toEqual(unfit);
});

function mapping(change: (value: string) => unknown): Change {
  return (rows) =>
    rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? change(value) : value]),
      ),
    );
}
