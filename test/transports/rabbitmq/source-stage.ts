import { randomUUID } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { rabbitmqSource } from '../../../src/brokers/rabbitmq/source/rabbitmq-source.ts';
import { rabbitmqSettings } from '../../../src/brokers/rabbitmq/transport/rabbitmq-options.ts';
import type { IncomingMessage, RabbitmqOptions, Subscribed, Subscription } from '../../../src/transports.ts';
import { type FaultProxy, startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { brokerAt, type TestBroker } from './broker.ts';

const url = inject('rabbitmqUrl');

export interface Stage {
  readonly broker: TestBroker;
  readonly proxy: FaultProxy;
  readonly address: string;
  /** What was offered, every time. */
  readonly offered: IncomingMessage[];
  readonly troubles: unknown[];
  readonly send: (...ids: readonly string[]) => void;
  readonly join: (options?: Partial<Subscription>) => Promise<Subscribed>;
}

/**
 * An exchange, and a consumer that reaches it through a proxy and acknowledges everything.
 *
 * @param times how often it binds its queue again, and how long it holds a message
 */
export async function stage(
  options: Partial<RabbitmqOptions> = {},
  times?: Parameters<typeof rabbitmqSource>[2],
): Promise<Stage> {
  const broker = await brokerAt();
  const proxy = await startFaultProxy(new URL(url).host);
  const address = `arrivals-${randomUUID().slice(0, 8)}`;
  await broker.channel.assertExchange(address, 'fanout');
  const offered: IncomingMessage[] = [];
  const troubles: unknown[] = [];
  const running: Subscribed[] = [];
  onTestFinished(async () => {
    await Promise.all(running.map((one) => one.stop()));
    await broker.close();
    await proxy.close();
  });
  const settings = rabbitmqSettings({
    url: url.replace(new URL(url).host, proxy.address),
    ...options,
  });
  const source = rabbitmqSource(settings.connection, settings.queues, times);
  return {
    broker,
    proxy,
    address,
    offered,
    troubles,
    send(...ids) {
      for (const id of ids)
        broker.channel.publish(address, '', Buffer.from(id), { persistent: true, messageId: id });
    },
    async join(own = {}) {
      const subscribed = await source.subscribe({
        addresses: [address],
        group: 'stock',
        concurrency: 1,
        batchSize: 10,
        fromBeginning: true,
        joinWithinMs: 30_000,
        assigned: () => undefined,
        disconnected: (error) => void troubles.push(error),
        async handle(batch) {
          offered.push(...batch.messages);
          for (const message of batch.messages) batch.acknowledge(message);
        },
        ...own,
      });
      running.push(subscribed);
      return subscribed;
    },
  };
}

export const idsOf = (messages: readonly IncomingMessage[]): readonly string[] =>
  messages.map(({ offset }) => offset);
