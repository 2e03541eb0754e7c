import { expect, inject, test } from 'vitest';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { receiptsAddress } from '../../../src/core/receipt.ts';
import { confirmStage } from '../../support/fixtures/confirm-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

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

test('a topic that asks for receipts over a transport without receipts refuses the start', async (context) => {
  const stage = await confirmStage(context);

  const relay = startRelay({ ...stage.config, transports: { memory: memoryTransport() } });

  await expect(relay.ready).rejects.toMatchObject({ code: 'OUTBOX_SOURCE_UNKNOWN' });
  expect(await stage.database.query('select transport from outbox.topic')).toEqual([{ transport: 'broker' }]);
});
