import { expect, inject, test, vi } from 'vitest';
import { kafkaLog } from '../../../src/brokers/kafka/client/log.ts';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { kafkaOver } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { IncomingMessage } from '../../../src/brokers/source.ts';
import { message } from '../../../src/testing/contract-fixture.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const connection = kafkaConnection(inject('kafkaBrokers'));

test('neither a relay nor a consumer nor an operator sets a timer with a negative delay, of which Node 24 warns', async ({
  onTestFinished,
}) => {
  const armed = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => armed.mockRestore());
  const address = await createTopic(observer(inject('kafkaBrokers')));
  const transport = kafkaOver(connection);
  onTestFinished(() => transport.close());
  const received: IncomingMessage[] = [];
  const consumer = await kafkaSource(connection).subscribe({
    addresses: [address],
    group: address,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 10,
    handle: async (batch) => {
      for (const one of batch.messages) batch.acknowledge(one);
      received.push(...batch.messages);
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  const { outcomes } = await transport.publish({
    address,
    messages: [message(null)],
    partitions: 1,
    signal: new AbortController().signal,
  });
  expect(outcomes).toMatchObject([{ kind: 'acknowledged' }]);
  await until(async () => received.length > 0);
  const records = [];
  for await (const some of (await kafkaLog(connection).open([address], null)).records())
    records.push(...some);
  expect(records).toHaveLength(1);
  await consumer.stop();

  expect(armed).toHaveBeenCalled();
  expect(armed.mock.calls.map(([, ms = 0]) => ms).filter((ms) => !(ms >= 0))).toEqual([]);
});
