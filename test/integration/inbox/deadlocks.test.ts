import { expect, test } from 'vitest';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const messages = 24;
const keys = 4;

test('I3 I4 F11: handlers that deadlock repeatedly use up no try, and each message has its effect once, in order', async (context) => {
  const inbox = await MemoryInbox.create();
  context.onTestFinished(() => inbox.end());
  const { database } = inbox;
  await database.query('create table hot (id integer primary key, n integer not null)');
  await database.query('insert into hot values (0, 0), (1, 0)');
  // A second is the usual time until PostgreSQL looks for a deadlock.
  await database.query(
    `do $$ begin execute format('alter database %I set deadlock_timeout = ''20ms''', current_database()); end $$`,
  );
  const attempts = new Set<number>();
  const running = await inbox.consume({
    quickRetries: [],
    retry: [],
    keyConcurrency: keys,
    before: ({ attempt }) => attempts.add(attempt),
    after: async ({ payload: { n } }, tx) => {
      // Two hot rows, taken in one order by half of the messages and in the other by the rest.
      for (const id of [n % 2, 1 - (n % 2)]) {
        await tx.$executeRaw`update hot set n = n + 1 where id = ${id}`;
        await tx.$queryRaw`select pg_sleep(0.01)::text`;
      }
    },
  });
  inbox.feed(...range(1, messages).map((n) => ({ n, key: `k${n % keys}` })));
  await until(() => running.counts().handled + running.counts().failed === messages, 60_000);

  // A backend adds to its statistics once a second at most.
  const deadlocks = async (): Promise<number> => {
    const [met] = await database.query<{ deadlocks: number }>(
      'select deadlocks::integer from pg_stat_database where datname = current_database()',
    );
    return met?.deadlocks ?? 0;
  };
  await until(async () => (await deadlocks()) > 0, 20_000).catch(() => undefined);
  expect(await deadlocks(), 'deadlocks that PostgreSQL has ended').toBeGreaterThan(0);
  const { failedAttempts, failed } = running.counts();
  expect(failedAttempts).toBeGreaterThan(0);
  expect(failed).toBe(0);
  expect([...attempts]).toEqual([1]);
  const effects = await inbox.effects();
  expect(effects.toSorted((a, b) => a - b)).toEqual(range(1, messages));
  for (const key of range(0, keys - 1)) {
    const ofKey = effects.filter((n) => n % keys === key);
    expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
  }
  expect(await database.query('select n from hot order by id')).toEqual([{ n: messages }, { n: messages }]);
});
