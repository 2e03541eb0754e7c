import { randomUUID } from 'node:crypto';
import { inject, onTestFinished, test } from 'vitest';
import { group, openEffectOnceStage } from '../../../support/faults/effect-once.ts';
import { startFaultProxy } from '../../../support/faults/fault-proxy.ts';
import { until } from '../../../support/fixtures/until.ts';
import { brokerAt } from '../broker.ts';

const url = inject('rabbitmqUrl');

test('F17: over RabbitMQ each effect occurs once and in order, although connections break and a consumer dies before it acknowledges', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { host } = new URL(url);
  const proxy = await startFaultProxy(host);
  onTestFinished(() => proxy.close());
  const broker = await brokerAt(url);
  onTestFinished(() => broker.close());
  const address = `orders-${randomUUID()}`;
  await broker.channel.assertExchange(address, 'topic');
  const fragile = { kind: 'rabbitmq', url: url.replace(host, proxy.address) } as const;
  const stage = await openEffectOnceStage({ place: fragile, address, count: 150 });

  // The consumer makes its queue; until then every message is refused.
  const killed = stage.runKilled(20, { kind: 'rabbitmq', url });
  await until(
    () =>
      broker.model.createChannel().then(async (channel) => {
        channel.on('error', () => undefined);
        await channel.checkQueue(`${address}.${group}`);
        await channel.close();
        return true;
      }),
    90_000,
  );
  // Answers to confirmations and deliveries get lost while they are under way.
  proxy.inject({ kind: 'cut', of: 'replies', afterBytes: 300 });
  await stage.commit();
  await killed;
  await until(() => proxy.fired('cut') > 1);
  proxy.heal();
  await stage.expectRest();
});
