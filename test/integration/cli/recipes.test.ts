// @module-tag apart
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startKafka } from '../../../dev/servers/index.ts';
import { once } from '../../../src/consumer.ts';
import { cancel, reschedule, send, sendBatch } from '../../../src/index.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { nudgeChannel } from '../../../src/store/lane/nudge.ts';
import { kafka } from '../../../src/transports.ts';
import { orderPlaced, orderTimeout } from '../../recipes/topics.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { type Recipe, recipes } from '../../support/fixtures/recipes.ts';
import { until } from '../../support/fixtures/until.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

const names = Object.keys(recipes);
const kitchens = new Map<string, Kitchen>();

/** A database of its own for each recipe, so that none sees what others write. */
interface Kitchen {
  readonly database: Database;
  readonly recipe: Recipe;
  /** How often relays were woken. */
  readonly wakes: () => number;
  close(): Promise<void>;
}

async function openKitchen(open: (url: string) => Promise<Recipe>): Promise<Kitchen> {
  const made = await createTestDatabase();
  const { database } = made;
  // So that a commit can fail after everything went well.
  await database.query(
    'create table orders (id text not null unique deferrable initially deferred, status text not null)',
  );
  let wakes = 0;
  const listener = await database.openSession(nudgeChannel, () => {
    wakes += 1;
  });
  const recipe = await open(made.url);
  return {
    database,
    recipe,
    wakes: () => wakes,
    async close() {
      await recipe.end();
      await listener.stop();
      await made.drop();
    },
  };
}

beforeAll(async () => {
  for (const [name, open] of Object.entries(recipes)) kitchens.set(name, await openKitchen(open));
});

afterAll(async () => {
  await Promise.all([...kitchens.values()].map((one) => one.close()));
});

function kitchen(name: string): Kitchen {
  const one = kitchens.get(name);
  if (one === undefined) throw new Error(`There is no recipe ${name}.`);
  return one;
}

async function countOf(database: Database, key: string): Promise<readonly number[]> {
  const [row] = await database.query<{ orders: number; messages: number }>(
    `select (select count(*)::integer from orders where id = $1) as orders,
       (select count(*)::integer from outbox.message where key = $1) as messages`,
    [key],
  );
  return row === undefined ? [] : [row.orders, row.messages];
}

test.for(names)('the recipe for %s stores a message with its order and wakes the relays', async (name) => {
  const { database, recipe, wakes } = kitchen(name);
  const id = randomUUID();
  const before = wakes();
  await recipe.placeOrder(id);
  expect(await countOf(database, id)).toEqual([1, 1]);
  await until(() => wakes() > before);
});

test.for(names)(
  'the recipe for %s leaves no message when its transaction is rolled back',
  { tags: ['recipes-work'] },
  async (name) => {
    const { database, recipe } = kitchen(name);
    const id = randomUUID();
    await database.query(`insert into orders (id, status) values ($1, 'OTHER')`, [id]);
    await expect(recipe.placeOrder(id)).rejects.toThrow(/duplicate key|Failed query/);
    expect(await countOf(database, id)).toEqual([1, 0]);

    const failing = recipe.within(async (tx) => {
      await send(tx, orderPlaced, { orderId: id }, { key: id });
      throw new Error('the bank is closed');
    });
    await expect(failing).rejects.toThrow('the bank is closed');
    expect(await countOf(database, id)).toEqual([1, 0]);
  },
);

test.for(names)(
  'every call refuses a client of the recipe for %s outside of a transaction',
  { tags: ['recipes-work'] },
  async (name) => {
    const { database, recipe } = kitchen(name);
    const { outside } = recipe;
    const key = randomUUID();
    const payload = { orderId: key };
    const calls = [
      () => send(outside, orderPlaced, payload, { key }),
      () => sendBatch(outside, orderPlaced, [{ payload, key }]),
      () => cancel(outside, orderPlaced, key),
      () => reschedule(outside, orderPlaced, key, { after: 0 }),
      () => once(outside, 'group', key, async () => undefined),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ code: 'OUTBOX_NOT_IN_TRANSACTION' });
    expect(await countOf(database, key)).toEqual([0, 0]);
  },
);

test.for(names)('every call accepts the transaction of the recipe for %s', async (name) => {
  const { database, recipe } = kitchen(name);
  const key = randomUUID();
  const ref = `"${key}" ? $1 :name`;
  const answers = await recipe.within(async (tx) => [
    await sendBatch(
      tx,
      orderPlaced,
      [1, 2].map(() => ({ payload: { orderId: ref }, key })),
    ),
    await send(tx, orderTimeout, { orderId: key }, { after: '1h', ref, headers: { tenant: '?' } }),
    await reschedule(tx, orderTimeout, ref, { at: new Date(Date.now() + 60_000) }),
    await cancel(tx, orderTimeout, ref),
    await once(tx, 'group', key, async () => 'done'),
    await once(tx, 'group', key, async () => 'done'),
  ]);
  expect(answers).toMatchObject([
    [{ state: 'ready' }, { state: 'ready' }],
    { state: 'waiting', dueAt: expect.any(Date) },
    'rescheduled',
    'canceled',
    { duplicate: false, result: 'done' },
    { duplicate: true },
  ]);
  expect(await countOf(database, key)).toEqual([0, 2]);
});

test('consumers built from the recipes commit the writes of their handlers with the id of the message', async ({
  onTestFinished,
}) => {
  // Of its own: README's first program, which is tested as well, has the same topics.
  const server = await startKafka({ env: { ...process.env, KAFKA_BROKERS: '' } });
  onTestFinished(() => server.stop());
  const brokers = server.brokers.join(',');
  const broker = observer(brokers);
  const admin = broker.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: orderTimeout.rules.address }], waitForLeaders: true });
  await admin.disconnect();
  const config = {
    temporal: {},
    topics: [orderPlaced, orderTimeout],
    transports: { kafka: kafka({ servers: brokers }) },
  };
  const group = randomUUID();
  const id = randomUUID();
  for (const { database } of kitchens.values())
    await database.query(`insert into orders (id, status) values ($1, 'NEW')`, [id]);
  const producer = broker.producer();
  await producer.connect();
  await producer.send({
    topic: orderTimeout.rules.address,
    messages: [
      {
        value: JSON.stringify({ orderId: id }),
        headers: { ce_id: randomUUID(), ce_type: orderTimeout.name },
      },
    ],
  });
  await producer.disconnect();

  const running = await Promise.all(
    names.map((name) =>
      kitchen(name).recipe.startConsumer({
        config,
        group: `${name}-${group}`,
        report: () => undefined,
        transactionTimeout: '20s',
      }),
    ),
  );
  await until(() => running.every((one) => one.counts().handled === 1));
  await Promise.all(running.map((one) => one.stop()));

  for (const name of names) {
    const rows = await kitchen(name).database.query(
      'select o.status from orders o join outbox.processed p on p.xmin = o.xmin where o.id = $1',
      [id],
    );
    expect([name, rows]).toEqual([name, [{ status: 'CANCELED' }]]);
  }
});
