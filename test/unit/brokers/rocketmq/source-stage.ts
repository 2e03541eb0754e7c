import { rocketmqSource } from '../../../../src/brokers/rocketmq/source/rocketmq-source.ts';
import { scriptedRocketmq } from '../../../support/fixtures/scripted-rocketmq.ts';
import { subscriberOf } from '../subscriber.ts';

export const soon = { timeout: 20_000, interval: 5 };

/** A source at a scripted proxy, which has the topic `orders` with two brokers. */
export async function stage({ requestTimeoutMs = 10_000, lookEveryMs = 60_000 } = {}) {
  const proxy = await scriptedRocketmq();
  proxy.topics.set('orders', { brokers: { b: [0], a: [0, 1] }, type: 'FIFO' });
  const source = rocketmqSource(
    {
      servers: [proxy.endpoint],
      tls: false,
      brokerTls: false,
      credentials: undefined,
      nameServers: undefined,
      namespace: 'shop',
      requestTimeoutMs,
      invisibleMs: 60_000,
    },
    lookEveryMs,
  );
  return { proxy, source, ...subscriberOf(source, { concurrency: 4, batchSize: 10 }) };
}

/** Waits for the signal. */
export const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
