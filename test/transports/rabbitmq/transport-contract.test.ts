import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { type TransportSubject, transportContract } from '../../../src/testing.ts';
import { rabbitmq } from '../../../src/transports.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { brokerAt } from './broker.ts';

const unroutable = 'nowhere';

/** An exchange with one queue of its own, behind a proxy. */
async function subject(): Promise<TransportSubject> {
  const broker = await brokerAt();
  const { username, password, host } = new URL(inject('rabbitmqUrl'));
  const proxy = await startFaultProxy(host);
  const address = `orders-${randomUUID().slice(0, 8)}`;
  await broker.channel.assertExchange(address, 'topic');
  await broker.channel.assertQueue(address, { arguments: { 'x-queue-type': 'quorum' } });
  await broker.channel.bindQueue(address, address, 'to.#');
  const transport = rabbitmq({
    url: `amqp://${username}:${password}@${proxy.address}`,
    // Longer than a busy server takes; only the case of the lost answers waits for it.
    requestTimeout: '4s',
    exchanges: {
      [address]: { routingKey: ({ headers, key }) => headers['x-route'] ?? `to.${key ?? ''}` },
    },
  });
  let silenced = false;
  return {
    transport,
    address,
    partitions: 1,
    read: () => broker.read(address),
    async dispose() {
      await broker.channel.deleteQueue(address);
      await broker.channel.deleteExchange(address);
      await broker.close();
      await proxy.close();
    },
    faults: {
      refused: (message) => ({ ...message, headers: { ...message.headers, 'x-route': unroutable } }),
      async hold() {
        proxy.inject({ kind: 'reset' });
      },
      async loseAnswers() {
        silenced = true;
        proxy.inject({ kind: 'drop-replies' });
      },
      async reorder() {
        proxy.inject({ kind: 'delay', ms: 5, jitterMs: 20 });
      },
      async heal() {
        proxy.heal();
        if (silenced) expect(proxy.fired('drop-replies')).toBeGreaterThan(0);
      },
    },
  };
}

const cases = await transportContract(subject);

test('the contract runs every case whose fault RabbitMQ can have', () => {
  expect(cases).toHaveLength(17);
});

for (const { name, run } of cases) test(name, run);
