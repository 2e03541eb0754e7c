import { expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type MemorySource, memorySource } from '../../../src/brokers/memory/memory-source.ts';
import type { SeenFilter } from '../../../src/brokers/seen-filter.ts';
import { topic } from '../../../src/core/topic.ts';
import { InboxConsumer } from '../../../src/inbox/consumer.ts';
import type { ConsumerEvent, ConsumerReport } from '../../../src/inbox/consumer-event.ts';
import type { Consumer } from '../../../src/inbox/consumer-interface.ts';
import type { ReceiptSender } from '../../../src/inbox/handling/receipts.ts';
import { countKept } from '../../../src/store/inbox/kept-counts.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { testGate } from '../../support/fixtures/gate.ts';
import type { ShopTransaction } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = topic('orders', z.object({ n: z.number() }), {
  confirm: { group: 'shop', receiptTimeout: '1h' },
});
const others = topic('others', z.object({ n: z.number() }));

interface Made {
  readonly consumer: Consumer<ShopTransaction>;
  readonly source: MemorySource;
}

/** A consumer whose handlers are named by the test. */
async function make(sender?: Partial<ReceiptSender>, report?: ConsumerReport): Promise<Made> {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const prisma = openPrisma(made.url);
  onTestFinished(() => prisma.$disconnect());
  const source = memorySource({ partitions: 1 });
  const consumer = new InboxConsumer<ShopTransaction>({
    client: prisma,
    settings: { group: 'shop', ...(report !== undefined && { report }) },
    topics: [orders, others],
    sourceOf: () => source,
    receiptSenderOf: () => ({ send: async () => undefined, close: async () => undefined, ...sender }),
    deadLetterSenderOf: () => ({ send: async () => [], close: async () => undefined }),
    processInfo: { host: 'here', pid: process.pid, version: '1.2.3' },
    hostParkedKeys: (input) =>
      startParkedKeys({
        ...input,
        temporal: { address: inject('temporalAddress'), namespace: 'default' },
        visible: () => true,
      }),
  });
  return { consumer, source };
}

function append(source: MemorySource, n: number): void {
  source.append(orders.name, {
    body: JSON.stringify({ n }),
    headers: { ce_id: `id-${n}`, ce_type: orders.name },
  });
}

test('a handler that returns no promise is reported once, and its messages count as handled', {
  tags: ['forgotten-promise-reported'],
}, async () => {
  const events: ConsumerEvent[] = [];
  const { consumer, source } = await make({}, (event) => events.push(event));
  // As in JavaScript, where nothing reports that the promise is forgotten.
  const forgetful = (() => undefined) as unknown as () => Promise<unknown>;
  const running = await consumer.on(orders, forgetful).start();
  onTestFinished(() => running.stop());
  append(source, 1);
  append(source, 2);
  await until(() => running.counts().handled === 2);

  expect(events.filter(({ type }) => type === 'promise-missing')).toMatchObject([
    { topic: 'orders', error: { code: 'OUTBOX_PROMISE_MISSING', details: { topic: 'orders' } } },
  ]);
});

test('a second stop ends with the first one, after the message in hand', async () => {
  const { consumer, source } = await make();
  const resume = testGate({ onTestFinished });
  const begun = testGate({ onTestFinished });
  const running = await consumer
    .on(orders, async () => {
      begun.open();
      await resume.opened;
    })
    .start();
  append(source, 1);
  await begun.opened;

  const ended: string[] = [];
  const stops = ['first', 'second'].map(async (name) => {
    await running.stop();
    ended.push(`${name} after ${running.counts().handled}`);
  });
  // Whatever needs no message in hand has its turn.
  await running.status();
  expect(ended).toEqual([]);
  resume.open();
  await Promise.all(stops);

  expect(ended).toEqual(['first after 1', 'second after 1']);
});

test('while receipts are being sent, their batch does not end and its messages stay unacknowledged', {
  tags: ['acknowledged-after-settled'],
}, async () => {
  const resume = testGate({ onTestFinished });
  const sending = testGate({ onTestFinished });
  const { consumer, source } = await make({
    send: async () => {
      sending.open();
      await resume.opened;
    },
  });
  const running = await consumer.on(orders, async () => undefined).start();
  onTestFinished(() => {
    // A stop waits for the receipts.
    resume.open();
    return running.stop();
  });
  append(source, 1);
  await sending.opened;

  // Each answer is a turn in which the batch could end.
  for (let look = 0; look < 5; look += 1)
    expect(await running.status()).toMatchObject({ handled: 1, lag: 1 });
  resume.open();
  await until(async () => (await running.status()).lag === 0);
});

test('a message between two quick tries when its consumer stops stays open, and the next consumer handles it', {
  tags: ['acknowledged-after-settled'],
}, async () => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  const first = await inbox.consume({
    quickRetries: ['10s'],
    before: () => {
      throw new Error('the bank is closed');
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });
  await until(() => first.counts().failedAttempts === 1);
  await first.stop();
  expect(await inbox.effects()).toEqual([]);

  await inbox.consume();
  inbox.feed({ n: 3, key: 'a' });
  // In order: whatever was not offered again by now never will be.
  await until(async () => (await inbox.effects()).includes(3));

  expect(await inbox.effects()).toEqual([1, 2, 3]);
  expect(first.counts()).toMatchObject({ handled: 0, parked: 0, failedAttempts: 1 });
});

const filter = (epoch?: string): SeenFilter => ({
  epoch,
  seen: async () => new Set(),
  add: async () => undefined,
  close: async () => undefined,
});

test('where the database does not reveal its epoch, as on Aurora, only a filter without an epoch of its own is refused', async () => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  await inbox.database.query('create schema aurora');
  await inbox.database.query(`create function aurora.pg_current_wal_lsn() returns pg_lsn language plpgsql
    as $$ begin raise exception 'not supported' using errcode = 'feature_not_supported'; end $$`);
  const [row] = await inbox.database.query<{ name: string }>('select current_database() as name');
  await inbox.database.query(`alter database "${row?.name}" set search_path = aurora, pg_catalog, public`);

  const plain = await inbox.consume();
  inbox.feed({ n: 1 });
  await until(() => plain.counts().handled === 1);
  await plain.stop();

  await expect(inbox.consume({ filter: filter() })).rejects.toMatchObject({ code: 'OUTBOX_EPOCH_UNKNOWN' });
  const filtered = await inbox.consume({ filter: filter('1') });
  inbox.feed({ n: 2 });
  await until(() => filtered.counts().handled === 1);
});

test('status counts at most 10,000 of the millions that a group keeps', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query(`insert into outbox.parked_key (id, consumer_group, topic, key, workflow_id, next_at)
    select gen_random_uuid(), 'shop', 'orders', 'k' || n, 'w' || n, 'infinity' from generate_series(1, 12000) n`);
  await made.database.query(`insert into outbox.parked (consumer_group, message_id, state, key_id, topic, key, address, partition,
      "offset", wire, sent_at)
    select 'shop', s.state || k.key, s.state, case when s.state = 'parked' then k.id end, 'orders', k.key, 'orders', 0, '1', '{}', now()
    from outbox.parked_key k, (values ('parked'), ('failed')) s (state)`);

  expect(await countKept(made.database, 'shop')).toEqual({
    parked: 10_000,
    parkedKeys: 10_000,
    failed: 10_000,
  });
  expect(await countKept(made.database, 'none')).toEqual({ parked: 0, parkedKeys: 0, failed: 0 });
});
