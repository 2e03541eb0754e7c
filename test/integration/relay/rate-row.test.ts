import { expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { rest } from '../../../src/core/rest.ts';
import { type TopicOptions, topic } from '../../../src/core/topic.ts';
import { announceTopics } from '../../../src/operations/announce.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { type RateAnswer, takeRate } from '../../../src/store/lane/rate.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { pagesOf, planNodes, statementOf, stopAutovacuum } from '../../support/fixtures/query-plan.ts';

interface Take extends RateAnswer {
  readonly from: number;
  readonly to: number;
}

async function announced(
  context: TestContext,
  topics: Readonly<Record<string, TopicOptions>>,
): Promise<Database> {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  await announceTopics(
    made.database,
    Object.entries(topics).map(([name, options]) => policyOf(topic(name, z.unknown(), options), 'http')),
    {},
  );
  return made.database;
}

/** Takes as fast as it can, as many lanes at once. The clock of this process is read before and after each take. */
async function takeFor(
  database: Database,
  ms: number,
  lanes: number,
  most: number,
): Promise<readonly Take[]> {
  const end = performance.now() + ms;
  const takes: Take[] = [];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (performance.now() < end) {
        const from = performance.now();
        const answer = await takeRate(database, 'orders', most);
        takes.push({ ...answer, from, to: performance.now() });
      }
    }),
  );
  return takes.filter(({ granted }) => granted > 0);
}

/** The most that was certainly let go within one time of this length. */
function mostWithin(takes: readonly Take[], perMs: number): number {
  return Math.max(
    ...takes.map(({ from }) =>
      takes
        .filter((take) => take.from >= from && take.to < from + perMs)
        .reduce((sum, { granted }) => sum + granted, 0),
    ),
  );
}

test.for([
  [7, 3],
  [500, 40],
] as const)(
  'eight that ask at once for a rate of %d get it, and in no time of its length more',
  { tags: ['rate-kept'] },
  async ([messages, most], context) => {
    const database = await announced(context, { orders: { rate: { messages, per: '300ms' } } });

    let best = 0;
    // The best of some tries: a machine that gives this process no processor for a second lets less go.
    for (let tries = 0; tries < 6 && best < 4 * messages; tries += 1) {
      const takes = await takeFor(database, 1_600, 8, most);
      expect(mostWithin(takes, 300)).toBeLessThanOrEqual(messages);
      expect(Math.max(...takes.map(({ granted }) => granted))).toBe(most);
      const sum = takes.reduce((total, { granted }) => total + granted, 0);
      best = Math.max(best, sum);
    }
    // Five whole times have passed.
    expect(best).toBeGreaterThanOrEqual(4 * messages);
  },
);

test('one take gets no more than the share of a lane, and what is refused is told when to ask again', {
  tags: ['rate-kept'],
}, async (context) => {
  const database = await announced(context, { orders: { lanes: 4, rate: { messages: 10, per: '1h' } } });
  // The row is made by the first who asks.
  expect(await takeRate(database, 'orders', 5)).toEqual({ granted: 0, waitMs: 5 });

  const granted: number[] = [];
  for (let n = 0; n < 5; n += 1) granted.push((await takeRate(database, 'orders', 5)).granted);

  expect(granted).toEqual([3, 3, 3, 1, 0]);
  const { waitMs } = await takeRate(database, 'orders', 5);
  expect(waitMs).toBeGreaterThan(3_500_000);
  expect(waitMs).toBeLessThanOrEqual(3_600_000);
});

test('topics of one address share a rate of the address, and other topics do not', {
  tags: ['rate-kept'],
}, async (context) => {
  const of = {
    address: 'https://shop.example/hook',
    rate: { messages: 3, per: '1h', of: 'address' },
  } as const;
  const database = await announced(context, {
    orders: of,
    bills: of,
    own: { ...of, rate: { messages: 3, per: '1h' } },
    elsewhere: { ...of, address: 'https://other.example/hook' },
    free: { address: of.address },
  });
  for (const name of ['orders', 'own', 'elsewhere']) await takeRate(database, name, 1);

  const granted = async (name: string): Promise<number> => (await takeRate(database, name, 2)).granted;
  expect(await granted('orders')).toBe(2);
  expect(await granted('bills')).toBe(1);
  expect(await granted('bills')).toBe(0);
  expect(await granted('orders')).toBe(0);
  expect(await granted('own')).toBe(2);
  expect(await granted('elsewhere')).toBe(2);
  expect(await takeRate(database, 'free', 9)).toEqual({ granted: 9, waitMs: 0 });
});

test('a clock that was set back does not stop a topic for longer than its rate says', {
  tags: ['rate-kept'],
}, async (context) => {
  const database = await announced(context, { orders: { rate: { messages: 1, per: '200ms' } } });
  await takeRate(database, 'orders', 1);
  await database.query(
    `update outbox.rate set sent_at = array[clock_timestamp() + interval '1 day'], counts = '{1}'`,
  );

  expect(await takeRate(database, 'orders', 1)).toMatchObject({ granted: 0 });
  await expect.poll(async () => (await takeRate(database, 'orders', 1)).granted).toBe(1);
});

test('a row that somebody has locked makes nobody wait', { tags: ['rate-kept'] }, async (context) => {
  const database = await announced(context, { orders: { rate: { messages: 1, per: '1h' } } });
  await takeRate(database, 'orders', 1);
  await database.transaction(async (sql) => {
    await sql.query('select from outbox.rate for update');
    const answer = await Promise.race([takeRate(database, 'orders', 1), rest(20_000).then(() => 'it waits')]);
    expect(answer).toEqual({ granted: 0, waitMs: 5 });
  });
  expect(await takeRate(database, 'orders', 1)).toMatchObject({ granted: 1 });
});

test('a thousand takes leave a row of at most 60 entries', { tags: ['rate-kept'] }, async (context) => {
  const database = await announced(context, { orders: { rate: { messages: 100_000, per: '1s' } } });
  await takeFor(database, 1_300, 4, 1);

  const [row] = await database.query<{ entries: number; counted: number }>(
    'select cardinality(sent_at) as entries, cardinality(counts) as counted from outbox.rate',
  );
  expect(row?.entries).toBeLessThanOrEqual(60);
  expect(row?.counted).toBe(row?.entries);
});

test('different rates of one address leave a row of bounded size that forgets nothing', async (context) => {
  const often = { messages: 100, per: '1 second', of: 'address' } as const;
  const database = await announced(context, {
    orders: { address: 'shared', rate: often },
    bills: { address: 'shared', rate: { messages: 1_000_000, per: '1 hour', of: 'address' } },
  });
  await takeRate(database, 'orders', 1);
  await takeRate(database, 'orders', 1);
  await database.query(
    `update outbox.rate set
       sent_at = (select array_agg(clock_timestamp() - n * interval '0.5 s' order by n desc) from generate_series(3, 5000) n),
       counts = array_fill(1, array[4998])`,
  );
  expect(await takeRate(database, 'orders', 100)).toMatchObject({ granted: 100 });
  const [row] = await database.query<{ entries: number; sum: number; late: boolean }>(
    `select cardinality(sent_at) as entries, (select sum(c)::integer from unnest(counts) c) as sum,
       sent_at[1] < clock_timestamp() - interval '40 minutes' as late from outbox.rate`,
  );
  expect(row?.entries).toBeLessThanOrEqual(55);
  expect(row).toMatchObject({ sum: 4_998 + 100, late: true });
});

test('behind an old snapshot a take reads none of the versions that earlier ones have left', {
  tags: ['history-slows-nothing'],
}, async (context) => {
  const made = await createTestDatabase();
  const old = await openTransaction(made.url);
  context.onTestFinished(async () => {
    await old.rollback();
    await made.drop();
  });
  const { database } = made;
  const limited = topic('orders', z.unknown(), { rate: { messages: 1_000_000, per: '1h' } });
  await announceTopics(database, [policyOf(limited, 'http')], {});
  await stopAutovacuum(database, ['rate']);
  await old.query('set transaction isolation level repeatable read');
  await old.query('select from outbox.topic');
  const pagesAfter = async (takes: number) => {
    await database.query(
      `do $$ begin for n in 1..${takes} loop perform outbox.take_rate('orders', 1); commit; end loop; end $$`,
    );
    const { text, values } = await statementOf((sql) => takeRate(sql, 'orders', 1));
    return pagesOf(await planNodes(database, text, values));
  };
  const least = await pagesAfter(20);

  // Three pages deeper, for each of its questions and its write.
  expect(await pagesAfter(4_000)).toBeLessThan(least + 20);
});
