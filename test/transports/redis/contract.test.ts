import { describe, expect, test } from 'vitest';
import { type TransportSubject, transportContract } from '../../../src/testing.ts';
import { redisList, redisPubSub, redisStream } from '../../../src/transports.ts';
import { delivered, listMessages, streamMessages } from '../../support/fixtures/redis-contents.ts';
import { faultySubject } from './redis-subject.ts';

/** Longer than a busy server takes; only the case of the lost answers waits for it. */
const requestTimeout = 4_000;

const subjects: readonly (readonly [name: string, make: () => Promise<TransportSubject>])[] = [
  [
    'redisStream',
    () =>
      faultySubject(
        (url) => redisStream({ url, requestTimeout }),
        async (client, address) => () => streamMessages(client, address),
      ),
  ],
  [
    'redisList',
    () =>
      faultySubject(
        (url) => redisList({ url, requestTimeout }),
        async (client, address) => () => listMessages(client, address),
      ),
  ],
  [
    'redisPubSub',
    () =>
      faultySubject(
        (url) => redisPubSub({ url, requestTimeout }),
        async (client, address) => {
          const received: string[] = [];
          const subscriber = client.duplicate();
          await subscriber.connect();
          await subscriber.subscribe(address, (text) => void received.push(text));
          return async () => {
            // Its answer comes behind everything that was published before.
            await subscriber.ping();
            subscriber.destroy();
            return received.map(delivered);
          };
        },
      ),
  ],
];

describe.each(subjects)('%s', async (_name, make) => {
  const cases = await transportContract(make);

  test('runs every case of the contract except that of a lost partition', () => {
    expect(cases).toHaveLength(17);
  });

  for (const { name, run } of cases) test(name, run);
});
