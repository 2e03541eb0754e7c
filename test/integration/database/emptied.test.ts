import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { clientOf, consumer } from '../../../src/consumer.ts';
import { send, topic, transaction } from '../../../src/index.ts';
import { startRelay } from '../../../src/relay.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { migrate, readMigrations, requireMigrated } from '../../../src/store/installation/migrate.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const placed = topic('order-placed', z.object({ n: z.number() }));
const refusal = {
  code: 'OB004',
  hint: expect.stringContaining('Exclude the schema outbox from what empties tables'),
};

let made: TestDatabase;
let client: ReturnType<typeof clientOf<pg.PoolClient>>;
/** A relay of the database; a consumer runs beside it. */
let relay: ReturnType<typeof startRelay>;
/** What the consumer has handled. */
const handled: number[] = [];
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  quietTemporal();
  made = await createTestDatabase();
  ends.push(() => made.drop());
  const { url } = made;
  const pool = new pg.Pool({ connectionString: url, max: 20 });
  ends.push(() => pool.end());
  client = clientOf(pool);
  const config = {
    database: { url },
    temporal: { address: inject('temporalAddress') },
    topics: [placed],
    transports: { kafka: memoryBroker() },
  };
  relay = startRelay(config, { logger: false });
  ends.push(() => relay.stop());
  const consuming = await consumer(client, { config, group: 'tests' })
    .on(placed, async (_tx, { payload }) => void handled.push(payload.n))
    .start();
  ends.push(() => consuming.stop());
  await relay.ready;
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function sendAndWait(n: number): Promise<void> {
  await transaction(client, (tx) => send(tx, placed, { n }, { key: 'k' }));
  await until(() => handled.includes(n), 60_000);
}

async function tablesOf({ database }: TestDatabase): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'outbox' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** The tables that refuse to be emptied, also where triggers are switched off. */
async function keptOf({ database }: TestDatabase): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(
    `select c.relname::text as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where t.tgname = 'emptied' and t.tgenabled = 'A' and c.relnamespace = 'outbox'::regnamespace order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** The error of a statement; a deadlock with those that write is none. */
async function errorOf({ database }: TestDatabase, statement: string): Promise<unknown> {
  for (;;) {
    const error: unknown = await database.query(statement).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof Error && 'code' in error && error.code === '40P01')) return error;
  }
}

const all = (names: readonly string[]) => names.map((name) => `outbox.${name}`).join(', ');

test('a test suite that empties all tables is told to leave those of the outbox, and what it sends then is delivered', {
  tags: ['tables-not-emptied-unnoticed'],
}, async () => {
  await sendAndWait(1);
  const everything = all(await tablesOf(made));

  for (const emptying of [
    `truncate ${everything} restart identity cascade`,
    `set session_replication_role = replica; truncate ${everything}`,
    'delete from outbox.installation',
    'delete from outbox.leaf',
    'delete from outbox.processed_epoch',
    ...(await keptOf(made)).map((name) => `truncate outbox.${name}`),
  ])
    expect(await errorOf(made, emptying), emptying).toMatchObject(refusal);
  await made.database.query('set session_replication_role = default');

  await sendAndWait(2);
  expect(handled).toEqual([1, 2]);
});

test('no table may be emptied to which only a migration writes a row', {
  tags: ['tables-not-emptied-unnoticed'],
}, async ({ onTestFinished }) => {
  const fresh = await createTestDatabase();
  onTestFinished(() => fresh.drop());
  const withRows: string[] = [];
  for (const name of await tablesOf(fresh)) {
    const rows = await fresh.database.query(`select from outbox.${name} limit 1`);
    if (rows.length > 0) withRows.push(name);
  }
  expect(withRows).toEqual(['installation', 'leaf', 'migration', 'processed_epoch']);
  expect(await keptOf(fresh)).toEqual(expect.arrayContaining(withRows));
});

test('messages are delivered after all tables were emptied that may be', {
  tags: ['tables-not-emptied-unnoticed'],
}, async () => {
  await sendAndWait(3);

  const kept = await keptOf(made);
  const others = (await tablesOf(made)).filter((name) => !kept.includes(name));
  // Those that write may be in its way, and one of them has to give way then.
  await until(async () => {
    await made.database.query(`truncate ${all(others)} restart identity cascade`);
    return true;
  });

  await sendAndWait(4);
  await sendAndWait(5);
});

const emptied = {
  code: 'OUTBOX_SCHEMA_EMPTIED',
  next: expect.stringContaining('Drop the schema outbox'),
};

/** As a superuser can, who switches all triggers off. */
async function emptyAll(at: TestDatabase): Promise<void> {
  for (const name of await keptOf(at))
    await at.database.query(`alter table outbox.${name} disable trigger all`);
  const everything = all(await tablesOf(at));
  await until(async () => (await errorOf(at, `truncate ${everything} cascade`)) === undefined);
}

test('the health of a relay says that its tables were emptied, although nothing else fails', {
  tags: ['tables-not-emptied-unnoticed'],
}, async () => {
  await sendAndWait(6);
  await emptyAll(made);

  await expect
    .poll(() => relay.health().failing, { timeout: 30_000 })
    .toContainEqual(
      expect.objectContaining({ what: 'tables of the outbox', error: expect.objectContaining(emptied) }),
    );
});

test('a schema whose own rows are gone is refused by each command, which says what to do', {
  tags: ['tables-not-emptied-unnoticed'],
}, async ({ onTestFinished }) => {
  const empty = await createTestDatabase();
  onTestFinished(() => empty.drop());
  const { database, url } = empty;
  await emptyAll(empty);

  await expect(migrate(database, await readMigrations())).rejects.toMatchObject(emptied);
  await expect(requireMigrated(database)).rejects.toMatchObject(emptied);
  await expect(readInstallation(database)).rejects.toMatchObject(emptied);
  expect((await examined({ database: { url } })).get('migrations')).toMatchObject({
    state: 'problem',
    next: emptied.next,
  });

  await database.query('drop schema outbox cascade');
  await migrate(database, await readMigrations());
  await readInstallation(database);
});
