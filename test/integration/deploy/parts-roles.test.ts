import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { cancel, reschedule, schedule, send, topic, unschedule } from '../../../src/index.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { migrate, readMigrations } from '../../../src/store/installation/migrate.ts';
import { makePartitions } from '../../../src/store/retention/history.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { checksWith, examined } from '../../support/fixtures/doctor.ts';

import { turnLeaf } from '../../support/fixtures/leaves.ts';
import { applyRoles, type RoleName, type Roles, roles as roleNames } from '../../support/fixtures/roles.ts';
import { numbered, quietTemporal } from '../../support/fixtures/stage.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: TestDatabase;
let roles: Roles;
beforeAll(async () => {
  fixture = await createTestDatabase();
  roles = await applyRoles(fixture);
  await fixture.database.query('create table business ()');
});
afterAll(() => fixture.drop());

const orders = topic('orders', z.object({ n: z.number() }));

/** The rights of every relation, function and schema of the outbox, and their owners. */
const rights = () =>
  fixture.database.query(
    `select c.oid::regclass::text as name, c.relowner::regrole::text as owner, c.relacl::text as acl from pg_class c
     where c.relnamespace = 'outbox'::regnamespace
     union all select p.oid::regprocedure::text, p.proowner::regrole::text, p.proacl::text from pg_proc p
     where p.pronamespace = 'outbox'::regnamespace
     union all select n.nspname, n.nspowner::regrole::text, n.nspacl::text from pg_namespace n where n.nspname = 'outbox'
     order by 1`,
  );

/** Who may do it; everyone else must be refused. */
const rightsTo: Readonly<Record<string, readonly RoleName[]>> = {
  'select payload from outbox.message': ['sender', 'viewer', 'operator', 'relay', 'owner'],
  'select body from outbox.parked': ['consumer', 'viewer', 'operator', 'relay', 'owner'],
  'select xid, position from outbox.message': ['sender', 'consumer', 'viewer', 'operator', 'relay', 'owner'],
  'select * from outbox.audit': ['consumer', 'viewer', 'operator', 'relay', 'owner'],
  'update outbox.message set payload = payload': ['sender', 'operator', 'relay', 'owner'],
  'update outbox.lane set cursor = 0': ['operator', 'relay', 'owner'],
  'update outbox.topic set paused = true': ['operator', 'relay', 'owner'],
  'update outbox.parked set state = state': ['consumer', 'operator', 'relay', 'owner'],
  'delete from outbox.message': ['sender', 'relay', 'owner'],
  'delete from outbox.parked': ['consumer', 'relay', 'owner'],
  'delete from outbox.processed': ['consumer', 'relay', 'owner'],
  'delete from outbox.audit': ['relay', 'owner'],
  'update outbox.audit set actor = actor': ['relay', 'owner'],
  'delete from outbox.message_history': ['relay', 'owner'],
  'update outbox.installation set id = id': ['relay', 'owner'],
  "insert into outbox.freed_key (topic, lane, key) values ('t', 0, 'k')": ['relay', 'owner'],
  'select outbox.roll_processed(0, 1, 0)': ['consumer', 'relay', 'owner'],
  'select outbox.create_leaf(99)': ['relay', 'owner'],
  'drop table outbox.processed cascade': ['relay', 'owner'],
  'create table outbox.mine ()': ['relay', 'owner'],
  'create schema mine': [],
  'create role mine': [],
  'create table public.mine ()': [],
  'select * from business': [],
};

test.each(Object.entries(rightsTo))('only who needs it may: %s', async (statement, allowed) => {
  const may: RoleName[] = [];
  for (const role of roleNames) {
    const tried = roles
      .as(role)
      .transaction(async (sql) => {
        await sql.query(statement);
        throw new Error('it may');
      })
      .catch((error: unknown) => error);
    const error = (await tried) as Error & { readonly code?: string };
    if (error.message === 'it may') may.push(role);
    else expect([role, error.code, error.message]).toEqual([role, '42501', expect.any(String)]);
  }
  expect(may.toSorted()).toEqual(allowed.toSorted());
});

test('the file may be run again at any time, and takes nothing that it gave', async () => {
  const before = await rights();
  await roles.apply();
  expect(await rights()).toEqual(before);
});

test('the file comes before the first migration and after it, and the doctor finds that every role has what it needs', async () => {
  const made = await createEmptyDatabase();
  const own = await applyRoles(made);
  onTestFinished(() => made.drop());
  await migrate(own.as('owner'), await readMigrations());
  await own.apply();

  await expect(own.as('owner').query('create schema mine')).rejects.toMatchObject({ code: '42501' });
  const answers = await examined({ database: { url: own.urlOf('relay') } });
  expect(answers.get('relay role')).toMatchObject({ state: 'ok' });
  expect(answers.get('sending roles')).toMatchObject({
    state: 'ok',
    message: `May send: ${own.nameOf('sender')}.`,
  });
  expect(answers.get('consuming roles')).toMatchObject({
    state: 'ok',
    message: `May consume: ${own.nameOf('consumer')}.`,
  });
});

test.each([
  { role: 'viewer', may: 'read' },
  { role: 'operator', may: 'read and operate' },
] as const)(
  'the doctor of a $role examines everything, and finds no fault with it',
  async ({ role, may }) => {
    await roles.apply();
    const answers = await examined({ database: { url: roles.urlOf(role) } });
    // The server of the tests keeps nothing for long.
    const durability = new Set(['fsync', 'full_page_writes', 'synchronous_commit']);
    expect(checksWith('problem', answers).filter((check) => !durability.has(check))).toEqual([]);
    expect(checksWith('unexamined', answers)).toEqual([]);
    expect(answers.get('relay role')).toMatchObject({
      state: 'ok',
      message: `"${roles.nameOf(role)}" may ${may}; relays and migrate need the rights of "${roles.nameOf('owner')}".`,
    });
    expect(answers.get('open transactions')).toMatchObject({ state: 'ok' });
  },
);

test('a sender sends, cancels, reschedules and schedules, also in a leaf that the relay has begun', async () => {
  const run = byPg(roles.as('sender'));
  const relay = roles.as('relay');
  for (const round of [1, 2]) {
    await run((tx) => send(tx, orders, { n: 1 }, { key: 'a' }));
    await run((tx) => send(tx, orders, { n: 2 }, { ref: `two ${round}`, after: '1 hour' }));
    await run((tx) =>
      send(tx, orders, { n: 3 }, { ref: `three ${round}`, after: '1 hour', expires: { after: '2 hours' } }),
    );
    expect(await run((tx) => cancel(tx, orders, `two ${round}`))).toBe('canceled');
    expect(await run((tx) => reschedule(tx, orders, `three ${round}`, { after: 0 }))).toBe('rescheduled');
    expect(await run((tx) => schedule(tx, 'hourly', orders, { n: round }, { every: '1h' }))).toBe(
      'scheduled',
    );
    expect(await run((tx) => unschedule(tx, 'hourly'))).toBe('removed');
    await turnLeaf(relay);
  }
  expect(await fixture.database.query('select n from outbox.leaf where closed_at is null')).not.toEqual([
    { n: '1' },
  ]);
});

test('a relay delivers, and begins and drops tables, which belong to the owner', async () => {
  quietTemporal();
  const shop = numbered('shop');
  const memory = memoryTransport();
  const events: RelayEvent[] = [];
  const relay = startRelay(
    {
      database: { url: roles.urlOf('relay') },
      temporal: { address: inject('temporalAddress') },
      topics: [shop],
      transports: { memory },
    },
    { report: (event) => events.push(event) },
  );
  onTestFinished(() => relay.stop());
  await relay.ready;
  const run = byPg(roles.as('sender'));
  await run((tx) => send(tx, shop, { n: 1 }));
  await turnLeaf(roles.as('relay'));
  await run((tx) => send(tx, shop, { n: 2 }, { after: '1 second' }));
  await until(() => memory.records('shop').length === 2);
  await makePartitions(roles.as('relay'));

  expect(events.filter(({ type }) => type.endsWith('-failing'))).toEqual([]);
  expect(
    await fixture.database.query(
      `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relowner <> $1::regrole`,
      [roles.nameOf('owner')],
    ),
  ).toEqual([]);
  // Before its database is dropped.
  await relay.stop();
});

test('a table that does not belong to the owner is found by every role', async () => {
  await fixture.database.query('create table outbox.stray ()');
  await fixture.database.query(`grant select on outbox.stray to ${roles.nameOf('viewer')}`);
  for (const role of ['viewer', 'relay'] as const) {
    const answers = await examined({ database: { url: roles.urlOf(role) } });
    expect(answers.get('relay role')).toMatchObject({
      state: 'problem',
      message: expect.stringContaining('" does not own stray: relays cannot keep the history'),
    });
  }
});
