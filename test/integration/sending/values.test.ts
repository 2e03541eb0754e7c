import { createHash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { send, sendBatch } from '../../../src/index.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { freshTopic } from '../../support/fixtures/stored-rows.ts';
import { byPg, byPrisma } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
let prisma: PrismaClient;
let installation: string;

beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
  installation = await readInstallation(made.database);
});

afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

const fresh = (row?: Parameters<typeof freshTopic>[1]) => freshTopic(made.database, row);

test('any JSON value is stored as the text of JSON.stringify', async () => {
  const orders = await fresh();
  const values = fc.jsonValue({ stringUnit: 'binary' });
  await fc.assert(
    fc.asyncProperty(fc.array(values, { minLength: 1, maxLength: 20 }), async (payloads) => {
      const stored = await byPg(made.database)((tx) =>
        sendBatch(
          tx,
          orders,
          payloads.map((payload) => ({ payload })),
        ),
      );
      const found = await made.database.query<{ payload: string }>(
        'select payload from outbox.message where id = any($1) order by position',
        [stored.map(({ id }) => id)],
      );
      expect(found.map(({ payload }) => payload)).toEqual(payloads.map((payload) => JSON.stringify(payload)));
    }),
    { numRuns: 50 },
  );
});

test('keys and headers of any text arrive unchanged', async () => {
  const orders = await fresh();
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 60 })
    .filter((value) => !value.includes('\0'));
  const name = fc.stringMatching(/^[a-z0-9][a-z0-9_.]{0,30}$/).filter((value) => !value.startsWith('ce_'));
  await fc.assert(
    fc.asyncProperty(text, fc.dictionary(name, text, { maxKeys: 5 }), async (key, headers) => {
      const { id } = await byPg(made.database)((tx) => send(tx, orders, null, { key, ref: key, headers }));
      const [row] = await made.database.query('select key, ref, headers from outbox.message where id = $1', [
        id,
      ]);
      expect(row).toEqual({ key, ref: key, headers });
    }),
    { numRuns: 100 },
  );
});

test('a batch stores and answers each message as send does, whatever its options', async () => {
  const orders = await fresh({ lanes: 7 });
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .filter((value) => !value.includes('\0'));
  const message = fc.record(
    {
      payload: fc.jsonValue(),
      key: fc.oneof(text, fc.constant('a\u001eb')),
      headers: fc.dictionary(fc.constantFrom('a', 'b'), text),
      after: fc.constantFrom(0, 86_400_000),
    },
    { requiredKeys: ['payload'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 2, maxLength: 12 }), async (messages) => {
      const stored = await byPrisma(prisma)((tx) => sendBatch(tx, orders, messages));
      const found = await made.database.query<Record<string, unknown>>(
        `select m.*, m.state::text as state, outbox.lane_of(m.key, m.id, 7) as "laneOfKey", m.due_at - m.created_at as delay
         from outbox.message_view m where id = any($1::uuid[]) order by position`,
        [stored.map(({ id }) => id)],
      );
      const expected = messages.map(({ payload, key = null, headers = null, after = 0 }, index) => {
        const { id, lane } = found[index] ?? {};
        const waits = after > 60_000;
        const deliverer = waits ? `message/${String(id)}` : `lane/${orders.name}/${String(lane)}`;
        return {
          waits,
          key,
          headers,
          payload: JSON.stringify(payload),
          workflowId: `${installation}/${deliverer}`,
        };
      });
      const actual = found.map((row) => ({
        waits: row['state'] === 'waiting',
        key: row['key'],
        headers: row['headers'],
        payload: row['payload'],
        workflowId: row['workflow_id'],
      }));
      expect(actual).toEqual(expected);
      expect(found.map((row) => row['lane'])).toEqual(found.map((row) => row['laneOfKey']));
      expect(found.map((row) => row['workflow_due_at'])).toEqual(
        found.map((row) => (row['state'] === 'waiting' ? null : row['due_at'])),
      );
      expect(stored.map(({ id, workflowId, state, dueAt }) => ({ id, workflowId, state, dueAt }))).toEqual(
        found.map((row) => ({
          id: row['id'],
          workflowId: row['workflow_id'],
          state: row['state'],
          dueAt: row['due_at'],
        })),
      );
    }),
    // Without a delay a batch takes another path, and hardly ever none of its messages has one by chance.
    { numRuns: 60, examples: [[[{ payload: [] }, { payload: {} }]]] },
  );
});

/** The second implementation of `outbox.lane_of`. */
function laneOf(text: string, lanes: number): number {
  return createHash('md5').update(text).digest().readUInt32BE(0) % lanes;
}

test('the lane of 1,000 keys and ids is the same in a second implementation, for 1 to 1,024 lanes', async () => {
  const texts = Array.from({ length: 1_000 }, (_, index) => `${index}-schlüssel-🧺-${randomUUID()}`);
  const id = randomUUID();
  for (const lanes of [1, 2, 3, 64, 1_024]) {
    const found = await made.database.query<{ lane: number; by_id: number }>(
      'select outbox.lane_of(key, $2, $3) as lane, outbox.lane_of(null, $2, $3) as by_id from unnest($1::text[]) with ordinality k(key, n) order by n',
      [texts, id, lanes],
    );
    expect(found.map(({ lane }) => lane)).toEqual(texts.map((text) => laneOf(text, lanes)));
    expect(found[0]?.by_id).toBe(laneOf(id, lanes));
  }
});

test('a delay counts from the statement, not from the start of a long transaction', async () => {
  const orders = await fresh();
  const row = await byPg(made.database)(async (tx) => {
    await tx.$queryRawUnsafe('select pg_sleep(1.2)');
    const [clock] = await tx.$queryRawUnsafe<{ at: Date }[]>('select clock_timestamp() as at');
    const { dueAt } = await send(tx, orders, 1, { after: '10s' });
    const [after] = await tx.$queryRawUnsafe<{ at: Date }[]>('select clock_timestamp() as at');
    return {
      before: clock?.at.getTime() ?? 0,
      due: dueAt?.getTime() ?? 0,
      after: after?.at.getTime() ?? 0,
    };
  });

  expect(row.due - row.before).toBeGreaterThanOrEqual(9_999);
  expect(row.due - row.after).toBeLessThanOrEqual(10_001);
});

test('a past timestamp means at once, however long ago', async () => {
  const orders = await fresh();
  for (const at of [new Date(Date.now() - 1_000), new Date(0), new Date('-000500-01-01T00:00:00Z')]) {
    const stored = await byPrisma(prisma)((tx) => send(tx, orders, 1, { at }));
    expect(stored).toMatchObject({ state: 'ready', workflowId: `${installation}/lane/${orders.name}/0` });
  }
});

test('repeating a message that its lane has passed answers published', async () => {
  const orders = await fresh();
  const id = randomUUID();
  await byPg(made.database)((tx) => send(tx, orders, 1, { id }));
  await made.database.query(
    `insert into outbox.lane (topic, n, cursor, snapshot)
     select topic, lane, position, pg_current_snapshot() from outbox.message where id = $1`,
    [id],
  );
  expect(await byPg(made.database)((tx) => send(tx, orders, 1, { id }))).toMatchObject({
    state: 'published',
    duplicate: true,
  });
});
