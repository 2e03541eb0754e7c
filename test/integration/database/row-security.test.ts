import pg from 'pg';
import { expect, inject, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations as operationsOf } from '../../../src/app/operations/operations.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { once } from '../../../src/inbox/once.ts';
import { clientOf, send, sendBatch, type Transaction, topic, transaction } from '../../../src/index.ts';
import { memoryBroker } from '../../../src/testing/memory-broker.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { applyRoles, type RoleName, type Roles } from '../../support/fixtures/roles.ts';

const placed = topic('order-placed', z.object({ n: z.number() }));
const active = {
  code: 'OUTBOX_ROW_SECURITY_ACTIVE',
  next: expect.stringMatching(/disable row level security/i),
};

/** A database whose tables of the outbox all have row level security, without a policy. */
async function secured({ onTestFinished }: TestContext): Promise<TestDatabase & { readonly roles: Roles }> {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const roles = await applyRoles(made);
  await made.database.query(
    `do $$ declare t regclass; begin
       for t in select oid from pg_class where relnamespace = 'outbox'::regnamespace and relkind in ('r', 'p') loop
         execute format('alter table %s enable row level security', t);
       end loop;
     end $$`,
  );
  return { ...made, roles };
}

const configOf = (roles: Roles, role: RoleName) => ({
  database: { url: roles.urlOf(role) },
  temporal: { address: inject('temporalAddress') },
  topics: [placed],
  transports: { kafka: memoryBroker() },
});

test('calls that row level security refuses or hides rows from say so', {
  tags: ['row-security-named'],
}, async (context) => {
  const { roles } = await secured(context);
  const calls: readonly (readonly [RoleName, string, (tx: Transaction) => Promise<unknown>])[] = [
    ['sender', 'send', (tx) => send(tx, placed, { n: 1 })],
    ['sender', 'send with a ref', (tx) => send(tx, placed, { n: 1 }, { ref: 'r', after: '1 h' })],
    ['sender', 'sendBatch', (tx) => sendBatch(tx, placed, [{ payload: { n: 1 } }, { payload: { n: 2 } }])],
    ['consumer', 'once', (tx) => once(tx, 'group', 'message-1', () => Promise.resolve())],
  ];
  for (const [role, name, call] of calls) {
    const pool = new pg.Pool({ connectionString: roles.urlOf(role) });
    const error: unknown = await transaction(clientOf(pool), call).catch((thrown: unknown) => thrown);
    await pool.end();
    expect({ name, error }).toMatchObject({ name, error: active });
  }

  const pool = new pg.Pool({ connectionString: roles.urlOf('consumer'), max: 15 });
  const consuming = consumer(clientOf(pool), { config: configOf(roles, 'consumer'), group: 'shop' });
  consuming.on(placed, () => Promise.resolve());
  await expect(consuming.start()).rejects.toMatchObject(active);
  await pool.end();
});

test('operations, a relay and the doctor name row level security, not an empty schema', {
  tags: ['row-security-named'],
}, async (context) => {
  const { database, roles, url } = await secured(context);
  const operations = operationsOf({ topics: [placed], database: { url: roles.urlOf('viewer') } });
  await expect(operations.status()).rejects.toMatchObject(active);
  await operations.close();
  expect((await examined({ database: { url: roles.urlOf('viewer') } })).get('migrations')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining('outbox.migration'),
    next: active.next,
  });

  await database.query('alter table outbox.migration force row level security');
  const relay = startRelay(configOf(roles, 'relay'), { logger: false });
  await expect(relay.ready).rejects.toMatchObject(active);

  // Who owns the tables sees their rows, and which of them others do not see.
  const drift = (await examined({ database: { url } })).get('schema drift');
  expect(drift).toMatchObject({ state: 'problem', message: expect.stringContaining('row level security') });
  await database.query(drift?.next ?? '');
  expect((await examined({ database: { url } })).get('schema drift')).toMatchObject({ state: 'ok' });
});
