import { expect, inject, test, vi } from 'vitest';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { receiptsAddress } from '../../../src/core/receipt.ts';
import { confirmStage } from '../../support/fixtures/confirm-stage.ts';
import type { ReceiptFate } from '../../support/fixtures/receipt-fate.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

// Each test starts relays and joins groups of the broker, some of them twice.
vi.setConfig({ testTimeout: 180_000 });

test('processed messages become confirmed, and their receipts name group, installation and ids', async (context) => {
  const stage = await confirmStage(context, { receiptTimeout: '1h' });
  await stage.relay();
  await stage.send(1, 2, 3);
  await until(async () => (await stage.states()).every((state) => state === 'published'));
  expect(await stage.effects()).toEqual([]);

  await stage.consume();

  await until(async () => (await stage.states()).every((state) => state === 'confirmed'));
  expect(await stage.effects()).toEqual([1, 2, 3]);
  const receipts = (await readTopic(observer(inject('kafkaBrokers')), receiptsAddress)).filter(
    ({ key }) => key === stage.group,
  );
  // One, where the messages came together, or one for each batch.
  const told = receipts.map(({ payload }) => JSON.parse(payload) as { readonly ids: readonly string[] });
  expect(told.flatMap(({ ids }) => ids)).toEqual(await stage.ids());
  const { group, installation } = stage;
  for (const receipt of told)
    expect(receipt).toEqual({ version: 1, group, installation, state: 'processed', ids: receipt.ids });
});

test('messages consumed at once are confirmed, whichever comes first, receipt or settle', async (context) => {
  const stage = await confirmStage(context, { receiptTimeout: '1h' });
  await stage.relay();
  await stage.consume();

  for (let n = 1; n <= 20; n += 1) await stage.send(n);

  await until(async () => (await stage.states()).every((state) => state === 'confirmed'));
  expect((await stage.stubs()).map(({ offset }) => Number(offset))).toEqual(
    Array.from({ length: 20 }, (_, n) => n),
  );
  expect(stage.told('messages-resent')).toBe(0);
});

test('a lost receipt costs a repeat: the inbox drops it, its receipt confirms, and the effect occurs once', {
  tags: ['confirmed-was-processed'],
}, async (context) => {
  const stage = await confirmStage(context, { receiptTimeout: '1h' });
  let receipts: ReceiptFate = 'refused';
  await stage.relay();
  const first = await stage.consume({ receipts: () => receipts });
  await stage.send(1);
  await until(() => stage.consumerEvents.some(({ type }) => type === 'receipts-unsent'));
  await until(async () => (await stage.states())[0] === 'published');
  await first.stop();
  receipts = 'kept';
  // Overdue once, when the first consumer has gone: a repeat for it, or one more, would be another story.
  await stage.expire();

  const second = await stage.consume();

  await until(async () => (await stage.states())[0] === 'confirmed');
  expect(second.counts()).toMatchObject({ handled: 0, duplicates: 1 });
  expect(await stage.effects()).toEqual([1]);
  expect(await stage.stubs()).toMatchObject([{ sends: 2, offset: '1' }]);
});

test('a receipt that cannot be sent blocks no message and is sent later', async (context) => {
  const stage = await confirmStage(context, { receiptTimeout: '1h' });
  let receipts: ReceiptFate = 'refused';
  await stage.relay();
  await stage.consume({ receipts: () => receipts });
  await stage.send(1);
  await until(() => stage.consumerEvents.some(({ type }) => type === 'receipts-unsent'));
  await stage.send(2, 3);
  await until(async () => (await stage.effects()).length === 3);
  // What is consumed at once may have its effect before the relay has heard that it is stored.
  await until(async () => (await stage.states()).every((state) => state !== 'ready'));
  expect(await stage.states()).toEqual(['published', 'published', 'published']);

  receipts = 'kept';

  await until(async () => (await stage.states()).every((state) => state === 'confirmed'));
  expect(await stage.records()).toBe(3);
});

// These wait for Kafka most of the time.
test.concurrent('a relay that was away reads the receipts of that time before it resends anything', async (context) => {
  const stage = await confirmStage(context);
  const before = await stage.relay();
  await stage.send(1, 2, 3);
  await until(async () => (await stage.states()).every((state) => state === 'published'));
  await before.stop();
  const consumer = await stage.consume();
  await until(() => consumer.counts().handled === 3);
  await consumer.stop();
  await stage.expire();

  await stage.relay();

  await until(async () => (await stage.states()).every((state) => state === 'confirmed'));
  expect(stage.told('messages-resent')).toBe(0);
  expect(await stage.records()).toBe(3);
});

test.concurrent('another group that consumes the topic confirms nothing', async (context) => {
  const stage = await confirmStage(context, { receiptTimeout: '1h' });
  await stage.relay();
  const other = await stage.consume({ group: `audit-${stage.group}` });
  await stage.send(1);
  await until(() => other.counts().handled === 1);
  await other.stop();

  await until(async () => (await stage.states())[0] !== 'ready');
  const receipts = await readTopic(observer(inject('kafkaBrokers')), receiptsAddress);

  expect(receipts.filter(({ key }) => key === `audit-${stage.group}`)).toEqual([]);
  expect(await stage.states()).toEqual(['published']);
});

test('a topic that asks for receipts over a transport without receipts refuses the start', async (context) => {
  const stage = await confirmStage(context);

  const relay = startRelay({ ...stage.config, transports: { memory: memoryTransport() } });

  await expect(relay.ready).rejects.toMatchObject({ code: 'OUTBOX_SOURCE_UNKNOWN' });
  expect(await stage.database.query('select transport from outbox.topic')).toEqual([{ transport: 'broker' }]);
});
