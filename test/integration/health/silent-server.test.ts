import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { topic } from '../../../src/core/topic.ts';
import { announceTopics } from '../../../src/operations/announce.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import type { SilenceLimits } from '../../../src/store/database/silence.ts';
import type { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { type CliProcess, startCli } from '../../support/fixtures/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { until } from '../../support/fixtures/until.ts';

/** Six seconds of silence, and what the questions take. */
const goneWithinMs = 15_000;
/** As for operators, and twenty times as fast. */
const soon: SilenceLimits = { askEveryMs: 50, askWithinMs: 10_000, silentMs: 300 };

interface Served extends TestDatabase {
  readonly proxy: FaultProxy;
  /** The address of the proxy. */
  readonly through: string;
}

type Context = Parameters<typeof proxiedDatabase>[0];

/** A database behind a proxy; both end with the test. */
async function serve(context: Context): Promise<Served> {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  return { ...made, proxy, through: url };
}

/** How many backends of a database are as the condition says. */
async function backends(sql: Sql, condition: string): Promise<number> {
  const rows = await sql.query(
    `select from pg_stat_activity where datname = current_database() and ${condition}`,
  );
  return rows.length;
}

/** Lets the links of a command vanish, and sees how it ends. */
async function strand({ proxy, through }: Served, command: CliProcess): Promise<void> {
  proxy.inject({ kind: 'strand' });
  expect(await Promise.race([command.exited, delay(goneWithinMs, 'still there')])).toBe(3);

  const { host, pathname } = new URL(through);
  expect(command.stderr()).toContain(
    `OUTBOX_SERVER_UNAVAILABLE: PostgreSQL does not answer at ${host} (database "${pathname.slice(1)}"): no sign of a statement for `,
  );
  expect(command.stderr()).toContain('Next: Start the server');
}

test.concurrent('a command that waits for the server ends when its connections vanish silently', {
  tags: ['command-ends-with-its-server'],
}, async (context) => {
  const served = await serve(context);
  const runner = await openTransaction(served.url);
  context.onTestFinished(() => runner.rollback());
  await runner.query('select pg_advisory_xact_lock(7021964731)');
  const command = startCli(context, ['migrate', '--database', served.through]);
  // The other runner is waited for, and in this time the server is probed.
  await until(
    async () =>
      (await backends(
        served.database,
        `application_name like '%question' and state = 'idle' and query <> ''`,
      )) > 0,
  );

  await strand(served, command);
});

test.concurrent('a command ends when its connections vanish between two statements, and so do idle connections', {
  tags: ['command-ends-with-its-server'],
}, async (context) => {
  const served = await serve(context);
  const orders = topic('orders', z.unknown(), { lanes: 3 });
  await announceTopics(served.database, [policyOf(orders, 'kafka')], {});
  const business = await openTransaction(served.url);
  context.onTestFinished(() => business.rollback());
  await business.query('select pg_current_xact_id()');
  const command = startCli(context, ['lanes', 'orders', '2', '--yes', '--database', served.through]);
  // Lanes are looked at side by side, the open transaction is then asked about again and again.
  await until(
    async () => (await served.database.query('select from outbox.topic where lanes = 2')).length > 0,
  );
  expect(served.proxy.connections()).toBeGreaterThan(1);

  await strand(served, command);
});

test('a statement has no time limit while its server is working', {
  tags: ['command-ends-with-its-server'],
}, async (context) => {
  const served = await serve(context);
  const database = openDatabase({ url: served.through, silence: soon });
  context.onTestFinished(() => database.close());
  const long = `select 1 as one from pg_sleep(${(4 * soon.silentMs) / 1_000})`;

  const alone = database.query(long);
  const within = database.transaction((sql) => sql.query(long));

  expect(await Promise.all([alone, within])).toEqual([[{ one: 1 }], [{ one: 1 }]]);
});

test.for([
  ['vanishes, and new ones work', 'strand'],
  ['vanishes with the server', 'blackhole'],
] as const)('a statement is given up when its connection %s', async ([, kind], context) => {
  const served = await serve(context);
  const database = openDatabase({ url: served.through, silence: { ...soon, askWithinMs: 1_000 } });
  // A statement that is not given up ends with the proxy, which ends after this.
  context.onTestFinished(() => void database.close());
  const answers = async () => (await database.query<{ one: number }>('select 1 as one'))[0]?.one === 1;
  await until(answers);

  served.proxy.inject({ kind });
  const gone = expect.objectContaining({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  const answer = database.query('select').catch((error: unknown) => error);
  expect(await Promise.race([answer, delay(goneWithinMs, 'still waiting')])).toEqual(gone);
  served.proxy.heal();
  await until(answers);
});
