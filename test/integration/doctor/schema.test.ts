import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { examined } from '../../support/fixtures/doctor.ts';

let made: TestDatabase;
/** They belong to the whole server. */
const roles: string[] = [];
const look = (url = made.url) => examined({ database: { url } });

beforeEach(async () => {
  made = await createTestDatabase();
});
afterEach(async () => {
  for (const role of roles.splice(0)) {
    await made.database.query(`drop owned by ${role}`);
    await made.database.query(`drop role ${role}`);
  }
  await made.drop();
});

test('a schema as migrated has no drift, and a changed or missing function, trigger or index is a problem', async () => {
  const { database } = made;
  const answers = await look();
  expect(answers.get('migrations')).toMatchObject({ state: 'ok', next: null });
  expect(answers.get('schema drift')).toMatchObject({ state: 'ok' });

  await database.query(
    `update pg_index set indisvalid = false where indexrelid = 'outbox.batch_lane'::regclass`,
  );
  expect((await look()).get('schema drift')?.next).toBe('reindex index concurrently outbox.batch_lane');

  const [trigger] = await database.query<{ name: string; table: string }>(
    `select tgname as name, relname as table from pg_trigger t join pg_class c on c.oid = tgrelid
     where c.oid = 'outbox.message'::regclass and not tgisinternal limit 1`,
  );
  await database.query(`alter table outbox.message disable trigger ${trigger?.name ?? ''}`);
  expect((await look()).get('schema drift')?.next).toBe(
    `alter table outbox.message enable trigger ${trigger?.name ?? ''}`,
  );

  await database.query(
    'create or replace function outbox.sha256(content text) returns text language sql immutable as $$ select content $$',
  );
  await database.query('drop function outbox.may_keep_processed');
  expect((await look()).get('schema drift')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining(
      '2 functions of the outbox changed or missing: may_keep_processed, sha256',
    ),
  });
});

test('missing, later and changed migrations are distinguished', async (context) => {
  const { database } = made;
  const empty = await createEmptyDatabase();
  context.onTestFinished(() => empty.drop());
  expect((await look(empty.url)).get('migrations')).toMatchObject({
    state: 'problem',
    message: 'The database has no outbox schema yet.',
    next: 'temporal-outbox migrate',
  });

  await database.query(
    `insert into outbox.migration (name, checksum, compatible) values ('2999_outbox', 'x', true)`,
  );
  expect((await look()).get('migrations')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('2999_outbox'),
  });
  await database.query(`update outbox.migration set compatible = false where name = '2999_outbox'`);
  expect((await look()).get('migrations')).toMatchObject({ state: 'problem' });
  await database.query(`delete from outbox.migration where name = '2999_outbox'`);
  await database.query(`update outbox.migration set checksum = 'another'`);
  expect((await look()).get('migrations')?.message).toContain('was changed after it had been applied');
});

test('a copied database is a problem with the command that adopts it', async () => {
  await made.database.query('update outbox.installation set database_oid = 1');
  expect((await look()).get('installation')?.next).toContain('migrate --adopt');
});

test('roles that lack a right that sender, consumer or relay needs are named with the grants', async () => {
  const { database } = made;
  const suffix = randomBytes(4).toString('hex');
  const [shop, billing] = [`shop_${suffix}`, `billing_${suffix}`];
  for (const role of [shop, billing]) {
    await database.query(`create role ${role} login password 'p'`);
    roles.push(role);
    await database.query(`grant usage on schema outbox to ${role}`);
    await database.query(`grant usage on all sequences in schema outbox to ${role}`);
  }
  await database.query(`grant select on all tables in schema outbox to ${shop}`);
  await database.query(`grant insert, update, delete on outbox.message, outbox.schedule to ${shop}`);
  await database.query('select outbox.grant_log()');
  await database.query(`grant select, insert, update, delete on all tables in schema outbox to ${billing}`);

  const granted = await look();
  expect(granted.get('privileges')).toBeUndefined();
  expect(granted.get('sending roles')).toMatchObject({ state: 'ok', message: `May send: ${shop}.` });
  expect(granted.get('consuming roles')).toMatchObject({
    state: 'warning',
    next: `grant execute on function outbox.roll_processed, outbox.drop_processed to "${billing}"`,
  });
  expect(granted.get('relay role')).toMatchObject({ state: 'ok' });

  await database.query(
    `grant execute on function outbox.roll_processed, outbox.drop_processed to ${billing}`,
  );
  await database.query(`revoke select on outbox.installation from ${shop}, ${billing}`);
  const revoked = await look();
  expect(revoked.get('sending roles')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining('it lacks select on outbox.installation.'),
  });
  expect(revoked.get('consuming roles')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining('it lacks select on outbox.installation.'),
  });
  for (const check of ['sending roles', 'consuming roles'])
    for (const grant of revoked.get(check)?.next?.split('; ') ?? []) await database.query(grant);
  expect((await look()).get('sending roles')).toMatchObject({ state: 'ok' });
  expect((await look()).get('consuming roles')).toMatchObject({ state: 'ok' });

  const asShop = new URL(made.url);
  asShop.username = shop;
  asShop.password = 'p';
  const limited = await look(asShop.href);
  expect(limited.get('relay role')).toMatchObject({
    state: 'ok',
    message: expect.stringContaining(`"${shop}" may read; relays and migrate need the rights of`),
  });
  await database.query(`revoke select on outbox.audit from ${shop}`);
  expect((await look(asShop.href)).get('relay role')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining(`"${shop}" neither owns the schema outbox nor may read audit:`),
  });
  expect(limited.get('open transactions')?.next).toBe('grant pg_read_all_stats to its role');
  expect(limited.get('consuming roles')).toMatchObject({ state: 'ok' });
});
