import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { send } from '../../../src/index.ts';
import { operations } from '../../../src/operations.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { parkingOnce } from '../../support/fixtures/parking-once.ts';
import { until } from '../../support/fixtures/until.ts';

type Parser = (text: string) => unknown;
const { getTypeParser, setTypeParser } = pg.types as {
  getTypeParser(this: void, type: number): Parser;
  setTypeParser(this: void, type: number, parse: Parser): void;
};

const { BOOL, BYTEA, DATE, FLOAT8, INT2, INT4, INT8, JSON: json, JSONB, NUMERIC, OID } = pg.types.builtins;
const { TIMESTAMP, TIMESTAMPTZ } = pg.types.builtins;
const arrays = [1_000, 1_005, 1_007, 1_009, 1_015, 1_016, 1_115, 1_182, 1_185, 2_951];
/** As applications set them for all of their process; Luxon makes objects of times, decimal.js of numbers. */
const parsers: readonly (readonly [Parser, readonly number[]])[] = [
  [BigInt, [INT2, INT4, INT8, OID]],
  [(text) => ({ instant: text }), [DATE, TIMESTAMP, TIMESTAMPTZ]],
  [(text) => text, [BOOL, JSONB, json, BYTEA, ...arrays]],
  [(text) => Number(text), [NUMERIC]],
  [(text) => ({ valueOf: () => text }), [FLOAT8]],
];
const usual = new Map<number, Parser>();

beforeAll(() => {
  for (const [parse, types] of parsers)
    for (const type of types) {
      usual.set(type, getTypeParser(type));
      setTypeParser(type, parse);
    }
});

// Files share processes.
afterAll(() => {
  for (const [type, parse] of usual) setTypeParser(type, parse);
});

test('what an application makes of types in its whole process changes nothing in the own connections', async ({
  onTestFinished,
}) => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const database = openDatabase({ url: made.url });
  onTestFinished(() => database.close());

  const [row] = await database.query<object>(
    `select 1::int8 as big, 2 as small, 0.5::float8 as real, true as flag, null::int8 as none, 'a' as text,
       '{"a":1}'::jsonb as json, '\\x01'::bytea as bytes, '2026-01-02 03:04:05+00'::timestamptz as at,
       array['a', null] as texts, array[1::int8, 2] as bigs, 1.50 as exact`,
  );

  expect(row).toEqual({
    big: '1',
    small: 2,
    real: 0.5,
    flag: true,
    none: null,
    text: 'a',
    json: { a: 1 },
    bytes: Buffer.from([1]),
    at: new Date('2026-01-02T03:04:05Z'),
    texts: ['a', null],
    bigs: ['1', '2'],
    exact: '1.50',
  });
});

test('beside an application that sets parsers of pg for its process, messages are delivered, parked, tried again and told', {
  tags: ['effect-once'],
}, async (context) => {
  const { broker, client, config, consuming, orders, relay, tried } = await parkingOnce(context);
  await relay.ready;
  const operator = operations(config);
  context.onTestFinished(() => operator.close());

  const later = await client.$transaction(async (tx) => {
    for (const n of [1, 2, 3]) await send(tx, orders, { n });
    return send(tx, orders, { n: 4 }, { after: '1h', ref: 'later' });
  });
  await until(() => consuming.counts().handled === 3, 120_000);
  broker.rewind('tests', orders.name);
  await until(() => consuming.counts().duplicates === 3, 120_000);

  expect(tried.toSorted()).toEqual(['1/1', '2/1', '2/2', '3/1']);
  expect(await operator.show(later.id)).toMatchObject({
    message: { state: 'waiting', payload: '{"n":4}', dueAt: later.dueAt },
    why: { code: 'due-later' },
  });
  const { messages } = await operator.list({ topic: orders.name });
  expect(
    messages
      .map(({ state }) => state)
      .toSorted()
      .join(),
  ).toBe('published,published,published,waiting');
  const { oldestDueMs, relays } = await operator.status();
  expect({ oldestDueMs, relays: relays.length }).toEqual({ oldestDueMs: null, relays: 1 });
});
