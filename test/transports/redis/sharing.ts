import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { readerPaces } from '../../../src/brokers/redis/source/queue-reader.ts';
import { redisStreamSource } from '../../../src/brokers/redis/source/stream-source.ts';
import { redisStream } from '../../../src/transports.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { redisServerAt } from '../../support/fixtures/redis-server.ts';
import { kindOf, messagesOf } from './publishing.ts';
import { serverUrl } from './redis-subject.ts';

/** As members have them, but quicker; on a busy machine a renewal may be late by a second or two. */
const paces = { ...readerPaces, leaseMs: 2_400, renewEveryMs: 300, standbyMs: 50, newsMs: 300 };
/** For members that hand over by themselves: a lease that no busy machine lets lapse. */
export const calm = { ...paces, leaseMs: 120_000 };
export const claimAfterMs = 3_000;
export const group = 'billing';
export const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

export function sourceAt(url: string, order = false, by = paces) {
  const server = redisServerAt({ url });
  return redisStreamSource({ server, requestTimeoutMs: 1_000, claimAfterMs, order }, by);
}

/** A stream, who sends to it, and a client to look at it. */
export async function stage() {
  const address = `orders-${randomUUID()}`;
  const transport = redisStream({ url: serverUrl });
  onTestFinished(() => transport.close());
  const client = await redisAt(serverUrl);
  return {
    address,
    client,
    send: (count: number) => kindOf(transport, address, messagesOf(['k'], count)),
    consumers: async () => (await client.xInfoConsumers(address, group)).map(({ name }) => name),
    open: async () => (await client.xPending(address, group)).pending,
  };
}
