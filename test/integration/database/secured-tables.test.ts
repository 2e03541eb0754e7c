import { expect, test } from 'vitest';
import { z } from 'zod';
import { once } from '../../../src/inbox/once.ts';
import { send, topic } from '../../../src/index.ts';
import { migrate, readMigrations } from '../../../src/store/installation/migrate.ts';
import { makePartitions } from '../../../src/store/retention/history.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { turnLeaf } from '../../support/fixtures/leaves.ts';
import { applyRoles } from '../../support/fixtures/roles.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';

const placed = topic('order-placed', z.object({ n: z.number() }));

const securedTables = ({ database }: TestDatabase) =>
  database.query(
    `select c.relname as name from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relrowsecurity`,
  );

/** As projects of Supabase have it, for tables of every schema. */
const secureNewTables = `
  create function secure() returns event_trigger language plpgsql as $$
  declare made record;
  begin
    for made in select object_identity from pg_event_trigger_ddl_commands() where object_type = 'table' loop
      execute format('alter table %s enable row level security', made.object_identity);
    end loop;
  end $$;
  create event trigger secure on ddl_command_end when tag in ('CREATE TABLE') execute function secure()`;

test('no table of the outbox has row level security, also where the database gives it to every new one', {
  tags: ['row-security-kept-off'],
}, async ({ onTestFinished }) => {
  const made = await createEmptyDatabase();
  onTestFinished(() => made.drop());
  await made.database.query(secureNewTables);
  await migrate(made.database, await readMigrations());
  expect(await securedTables(made)).toEqual([]);
  const roles = await applyRoles(made);

  await makePartitions(roles.as('relay'));
  await byPg(roles.as('consumer'))((tx) => once(tx, 'group', 'message-1', () => Promise.resolve()));
  expect(await made.database.query(`select outbox.roll_processed(0, 5000, 0) as answer`)).toEqual([
    { answer: 'rolled' },
  ]);
  const run = byPg(roles.as('sender'));
  await run((tx) => send(tx, placed, { n: 1 }));
  await turnLeaf(roles.as('relay'));
  await run((tx) => send(tx, placed, { n: 2 }));

  expect(await securedTables(made)).toEqual([]);
  expect(await made.database.query('select n from outbox.leaf where closed_at is null')).not.toEqual([
    { n: '1' },
  ]);
});
