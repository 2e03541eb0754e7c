import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { send, sendBatch, transaction } from '../../../src/index.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { lanesOfNudge, nudgeChannel } from '../../../src/store/lane/nudge.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { freshTopic, storedRows } from '../../support/fixtures/stored-rows.ts';
import { byPg, byPrisma, type RunTransaction } from '../../support/fixtures/transaction-ways.ts';
import { until } from '../../support/fixtures/until.ts';

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
const rows = (name: string) => storedRows(made.database, name);

describe.each([
  ['Prisma', (): RunTransaction => byPrisma(prisma)],
  ['pg', (): RunTransaction => byPg(made.database)],
])('through %s', (_, way) => {
  test('a commit leaves exactly the row, with the workflow of its lane', async () => {
    const orders = await fresh();
    const options = { key: 'k', ref: 'r', headers: { tenant: 'blue' } };
    const stored = await way()((tx) => send(tx, orders, { a: 1 }, options));

    expect(stored).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      workflowId: `${installation}/lane/${orders.name}/0`,
      state: 'ready',
      dueAt: null,
      duplicate: false,
    });
    expect(await rows(orders.name)).toMatchObject([
      {
        id: stored.id,
        key: 'k',
        ref: 'r',
        lane: 0,
        payload: '{"a":1}',
        content_type: 'application/json',
        headers: { tenant: 'blue' },
        state: 'ready',
        workflow_id: stored.workflowId,
        attempts: 0,
        due_at: null,
      },
    ]);
  });

  test('a waiting message has a workflow of its own', async () => {
    const orders = await fresh();
    const stored = await way()((tx) => send(tx, orders, 1, { after: '15 minutes' }));

    expect(stored).toMatchObject({ state: 'waiting', workflowId: `${installation}/message/${stored.id}` });
    const [row] = await rows(orders.name);
    expect(row).toMatchObject({ state: 'waiting', workflow_id: stored.workflowId, workflow_due_at: null });
    expect(stored.dueAt?.getTime()).toBe(row?.due_at?.getTime());
  });

  test("a message waiting in a topic with timer 'lane' belongs to its lane and needs no start", async () => {
    const orders = await fresh({ timer: 'lane' });
    const stored = await way()((tx) => send(tx, orders, 1, { after: 60_000 }));

    expect(stored).toMatchObject({ state: 'waiting', workflowId: `${installation}/lane/${orders.name}/0` });
    expect(await rows(orders.name)).toMatchObject([{ workflow_due_at: expect.any(Date) }]);
  });

  test('a rollback leaves nothing', async () => {
    const orders = await fresh();
    const undone = way()(async (tx) => {
      await send(tx, orders, 1);
      await sendBatch(tx, orders, [{ payload: 2 }, { payload: 3, after: 1_000 }]);
      throw new Error('the business said no');
    });

    await expect(undone).rejects.toThrow('the business said no');
    expect(await rows(orders.name)).toEqual([]);
  });

  test('the order of a batch is the order of its positions', async () => {
    const orders = await fresh();
    const payloads = Array.from({ length: 500 }, (_element, index) => index);
    const stored = await way()((tx) =>
      sendBatch(
        tx,
        orders,
        payloads.map((payload) => ({ payload })),
      ),
    );

    const all = await rows(orders.name);
    expect(all.map(({ payload }) => Number(payload))).toEqual(payloads);
    expect(all.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
  });

  test('a batch mixes options and answers in the order of the call', async () => {
    const orders = await fresh();
    const id = randomUUID();
    const stored = await way()((tx) =>
      sendBatch(tx, orders, [
        { payload: 'late', after: '1 hour' },
        { payload: 'now', id },
        { payload: 'past', at: new Date(0) },
      ]),
    );

    expect(stored.map(({ state }) => state)).toEqual(['waiting', 'ready', 'ready']);
    expect(stored[1]?.id).toBe(id);
    expect(stored[2]?.dueAt).toEqual(new Date(0));
    expect(await way()((tx) => sendBatch(tx, orders, []))).toEqual([]);
  });

  test('repeating id, topic, key and payload answers the stored message and writes nothing', async () => {
    const orders = await fresh();
    const id = randomUUID();
    const first = await way()((tx) => send(tx, orders, { a: 1 }, { id, key: 'k', after: '1 hour' }));
    const again = await way()((tx) =>
      send(tx, orders, { a: 1 }, { id: id.toUpperCase(), key: 'k', after: '2 hours' }),
    );

    expect(again).toEqual({ ...first, duplicate: true });
    expect(await rows(orders.name)).toHaveLength(1);
  });

  test('a batch that repeats some of its messages stores the others', async () => {
    const orders = await fresh();
    const id = randomUUID();
    await way()((tx) => send(tx, orders, 1, { id }));
    const stored = await way()((tx) =>
      sendBatch(tx, orders, [{ payload: 0 }, { payload: 1, id }, { payload: 2 }]),
    );

    expect(stored.map(({ duplicate }) => duplicate)).toEqual([false, true, false]);
    expect((await rows(orders.name)).map(({ payload }) => payload)).toEqual(['1', '0', '2']);
  });

  test('NUL and lone surrogates in a payload arrive as written', async () => {
    const orders = await fresh();
    const payload = {
      text: 'a\u0000b',
      half: '\ud800',
      other: '\udc00',
      emoji: '🧺',
      line: '\u2028',
      quote: '"\\',
    };
    await way()((tx) => send(tx, orders, payload));

    const [row] = await rows(orders.name);
    expect(row?.payload).toBe(JSON.stringify(payload));
    expect(JSON.parse(row?.payload ?? '')).toEqual(payload);
  });
});

test('transaction commits, answers the result of its work, and names the filled lanes to listeners', async () => {
  const orders = await fresh();
  const woken: string[] = [];
  const listener = await made.database.openSession(nudgeChannel, (payload) => {
    woken.push(payload);
  });
  try {
    const { id } = await transaction(prisma, (tx) => send(tx, orders, 1));
    expect(await rows(orders.name)).toMatchObject([{ id }]);
    await until(() => woken.length === 1);
    expect(lanesOfNudge(woken[0] ?? '')).toEqual([{ topic: orders.name, lane: 0 }]);

    const failing = transaction(prisma, async (tx) => {
      await send(tx, orders, 2);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await rows(orders.name)).toHaveLength(1);

    // Whatever the work did outside of send, the relays have to look for it themselves.
    await transaction(prisma, async () => undefined);
    await until(() => woken.length === 2);
    expect(woken[1]).toBe('');
  } finally {
    await listener.stop();
  }
});
