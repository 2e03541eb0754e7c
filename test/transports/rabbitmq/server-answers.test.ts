import { expect, onTestFinished, test } from 'vitest';
import { rabbitmqSource } from '../../../src/brokers/rabbitmq/source/rabbitmq-source.ts';
import { rabbitmqSettings } from '../../../src/brokers/rabbitmq/transport/rabbitmq-options.ts';
import type { SourceNotice, Subscribed } from '../../../src/brokers/source.ts';
import { until } from '../../support/fixtures/until.ts';
import { ScriptedBroker } from './scripted-broker.ts';

/** As consumers declare a queue under a server that does not limit deliveries. */
const unlimited = { 'x-queue-type': 'quorum', 'x-single-active-consumer': true };

/** A consumer whose handlers work only while nothing is down. */
async function stage(version: string, state = { down: false, rejected: 0 }) {
  const broker = await ScriptedBroker.start(version);
  const applied: string[] = [];
  const troubles: string[] = [];
  const notices: SourceNotice[] = [];
  const { connection, queues } = rabbitmqSettings({ url: broker.url });
  const join = async (joinWithinMs = 30_000): Promise<Subscribed> => {
    const subscribed = await rabbitmqSource(connection, queues).subscribe({
      addresses: ['orders'],
      group: 'stock',
      concurrency: 1,
      batchSize: 10,
      fromBeginning: true,
      joinWithinMs,
      assigned: () => undefined,
      disconnected: (error) => void troubles.push(String(error)),
      noticed: (notice) => void notices.push(notice),
      async handle(batch) {
        const [first] = batch.messages;
        if (state.down && first !== undefined) {
          state.rejected += 1;
          return batch.reject(first, 60_000);
        }
        for (const message of batch.messages) {
          applied.push(message.offset);
          batch.acknowledge(message);
        }
      },
    });
    onTestFinished(() => subscribed.stop());
    return subscribed;
  };
  return { applied, broker, join, notices, troubles };
}

test('a consumer from which the server takes single messages returns the others before it gets later ones', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const state = { down: true, rejected: 0 };
  const { applied, broker, join, troubles } = await stage('4.3.7', state);
  await join();
  broker.publish('m1', 'm2', 'm3');
  await until(() => broker.unacknowledged === 3 && state.rejected > 0);

  state.down = false;
  broker.timeOut(1);
  broker.publish('m4');

  await until(() => applied.includes('m4'));
  expect(applied).toEqual(['m1', 'm2', 'm3', 'm4']);
  expect(troubles).toEqual([
    expect.stringMatching(/canceled the consumer of the queue orders\.stock: .*consumer_timeout/),
  ]);
  await until(() => broker.unacknowledged === 0);
  expect(broker.channels.size).toBe(1);
});

test('a consumer whose queue is deleted reports it, keeps no channel, and declares it again', async () => {
  const { applied, broker, join, troubles } = await stage('4.3.7');
  await join();

  broker.deleteQueue();

  await until(() => broker.arguments !== undefined);
  broker.publish('m1');
  await until(() => applied.includes('m1'));
  expect(troubles).toEqual([expect.stringContaining('The queue orders.stock was deleted.')]);
  expect(broker.channels.size).toBe(1);
});

test('a queue declared before the server limited deliveries is consumed and reported', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { applied, broker, join, notices, troubles } = await stage('4.0.1');
  broker.arguments = unlimited;
  broker.publish('m1');

  const joined = await join().then(
    () => true,
    () => false,
  );

  expect(joined).toBe(true);
  await until(() => applied.includes('m1'));
  expect(broker.arguments).toEqual(unlimited);
  expect(troubles).toEqual([]);
  expect(notices).toMatchObject([
    {
      type: 'deliveries-limited',
      address: 'orders',
      error: {
        code: 'OUTBOX_DELIVERIES_LIMITED',
        message: expect.stringContaining('The queue orders.stock was declared before RabbitMQ 4.0'),
        next: expect.stringContaining('when it is empty'),
      },
    },
  ]);
});

test('a queue of RabbitMQ 4 that a consumer declares has no limit of deliveries, and is not reported', async () => {
  const { broker, join, notices } = await stage('4.0.1');

  await join();

  expect(broker.arguments).toEqual({ ...unlimited, 'x-delivery-limit': -1 });
  expect(notices).toEqual([]);
});

test('a queue of RabbitMQ 4 that differs in more than its limit is not consumed', async () => {
  const { applied, broker, join, notices } = await stage('4.0.1');
  broker.arguments = { 'x-queue-type': 'classic' };
  broker.publish('m1');

  await expect(join(5_000)).rejects.toMatchObject({
    message: expect.stringMatching(/exists with other arguments: .*Delete the queue when it is empty/),
  });

  expect([applied, notices]).toEqual([[], []]);
});
