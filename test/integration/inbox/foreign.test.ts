import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { type Topic, topic } from '../../../src/core/topic.ts';
import type { RunningConsumer } from '../../../src/inbox/consumer-interface.ts';
import type { ConsumerSettings } from '../../../src/inbox/consumer-options.ts';
import { type MemoryBroker, memoryBroker } from '../../../src/testing.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

const schema = z.object({ n: z.number() });
const orders = topic('orders', schema);
const payments = topic('payments', schema);

let made: TestDatabase;
let prisma: PrismaClient;
let running: RunningConsumer | undefined;
beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
});
afterEach(() => running?.stop());
afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

/** A consumer of these topics; `handled` gets topic, id and number of each message. */
async function consume(
  broker: MemoryBroker,
  group: string,
  topics: readonly Topic<{ n: number }>[],
  settings: Partial<ConsumerSettings> = {},
): Promise<{ readonly inbox: RunningConsumer; readonly handled: readonly string[] }> {
  const handled: string[] = [];
  const consuming = consumer(prisma, {
    config: {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [...topics],
      transports: { kafka: broker },
    },
    group,
    // In order also without keys.
    keyConcurrency: 1,
    quickRetries: [],
    ...settings,
  });
  for (const one of topics)
    consuming.on(one, async (_tx, { id, payload, topic: name }) =>
      handled.push(`${name} ${id} ${payload.n}`),
    );
  running = await consuming.start();
  return { inbox: running, handled };
}

const kept = (group: string) =>
  made.database.query<{ id: string; state: string; reason: string }>(
    'select message_id as id, state, reason from outbox.parked where consumer_group = $1 order by position',
    [group],
  );

test('of two systems that both count their events from 1 every event is handled and every repeat dropped', async () => {
  const broker = memoryBroker({ partitions: 1 });
  const events = (ce_source: string) =>
    Array.from({ length: 20 }, (_, n) => ({
      body: `{"n":${n + 1}}`,
      headers: { ce_source, ce_id: `${n + 1}` },
    }));
  broker.append(orders.name, ...events('/shop'), ...events('/shop'));
  broker.append(payments.name, ...events('/bank'), ...events('/bank'));

  const { inbox, handled } = await consume(broker, 'counting', [orders, payments]);
  await until(() => inbox.counts().handled + inbox.counts().duplicates === 80);

  expect(inbox.counts()).toMatchObject({ handled: 40, duplicates: 40 });
  expect(handled.filter((one) => one.endsWith(' 7')).toSorted()).toEqual([
    'orders /shop|7 7',
    'payments /bank|7 7',
  ]);
});

test('of two systems that both count their events from 1 every event of an unknown topic is kept', async () => {
  const broker = memoryBroker({ partitions: 1 });
  const event = (ce_source: string) => ({
    body: '{"n":1}',
    headers: { ce_source, ce_id: '1', ce_type: 'new' },
  });
  broker.append(orders.name, event('/shop'), event('/bank'), event('/bank'));

  const { inbox } = await consume(broker, 'unknown', [orders]);
  await until(() => inbox.counts().failed + inbox.counts().duplicates === 3);

  expect((await kept('unknown')).map(({ id }) => id).toSorted()).toEqual(['/bank|1', '/shop|1']);
});

test('unknown types at a shared address are kept by default, and with `ignore` leave no row', {
  tags: ['unknown-messages-fill-no-table'],
}, async () => {
  const broker = memoryBroker({ partitions: 1 });
  const strangers = Array.from({ length: 20 }, (_, n) => ({
    body: `{"n":${n}}`,
    headers: { ce_id: `s${n}`, ce_type: 'invoice.issued.v1' },
  }));
  broker.append(orders.name, ...strangers, {
    body: '{"n":100}',
    headers: { ce_id: 'o1', ce_type: 'orders' },
  });

  const { inbox: careful } = await consume(broker, 'ignoring', [orders]);
  await until(() => careful.counts().handled === 1);
  expect(await kept('ignoring')).toEqual(
    strangers.map(({ headers }) => ({ id: headers.ce_id, state: 'failed', reason: 'unknown-topic' })),
  );
  await careful.stop();

  broker.append(
    orders.name,
    { body: '{"n":1}', headers: { ce_id: 't1', ce_type: 'invoice.issued.v1' } },
    { body: 'garbage', headers: { ce_id: 't2', ce_type: 'log' } },
    { body: '{"n":101}', headers: { ce_id: 'o2', ce_type: 'orders' } },
  );
  const { inbox: deaf } = await consume(broker, 'ignoring', [orders], { unknown: 'ignore' });
  await until(() => deaf.counts().handled === 1);
  expect(deaf.counts()).toMatchObject({ ignored: 2, failed: 0 });
  expect(await kept('ignoring')).toHaveLength(strangers.length);
});

test('failed messages of other systems expire once the consumer sets how long they are kept', async () => {
  const broker = memoryBroker({ partitions: 1 });
  broker.append(
    orders.name,
    { body: '{}', headers: { ce_id: 's1', ce_type: 'invoice.issued.v1' } },
    { body: '{"n":1}', headers: { ce_id: 'o1', ce_type: 'orders' } },
  );
  const { inbox: first } = await consume(broker, 'expiring', [orders]);
  await until(() => first.counts().handled === 1);
  expect(await kept('expiring')).toHaveLength(1);
  await first.stop();
  await made.database.query(
    `update outbox.parked set updated_at = updated_at - interval '2 hours' where consumer_group = 'expiring'`,
  );

  await consume(broker, 'expiring', [orders], { keepFailed: '1h' });
  expect(await kept('expiring')).toEqual([]);
});
