import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { redisList, redisStream } from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins } from './member.ts';
import { publish } from './publishing.ts';
import { proxied, serverUrl } from './redis-subject.ts';

const payload = JSON.stringify('x'.repeat(500_000));
const count = 24;

test.each([
  ['stream', redisStream],
  ['list', redisList],
] as const)(
  'a %s full of large messages is read over a network that cannot pass a batch of them in time',
  { tags: ['redis-reads-what-arrives-in-time'], timeout: 120_000 },
  async (_kind, make) => {
    const { proxy, url } = await proxied();
    onTestFinished(() => proxy.close());
    const [transport, sender] = [make({ url, requestTimeout: 1_000 }), make({ url: serverUrl })];
    onTestFinished(() => Promise.all([transport.close(), sender.close()]).then(() => undefined));
    const address = `large-${randomUUID()}`;
    for (let n = 0; n < count; n += 8) {
      const messages = Array.from({ length: 8 }, () => ({
        id: randomUUID(),
        key: 'k',
        payload,
        headers: {},
      }));
      const { outcomes } = await publish(sender, address, messages);
      expect(outcomes.every(({ kind }) => kind === 'acknowledged')).toBe(true);
    }
    // Four messages of this size in a second, and a reader that would take all of them.
    proxy.inject({ kind: 'throttle', bytesPerSecond: 3_000_000 });

    const member = await joins(transport.source(), address, { batchSize: 200 });
    await until(() => member.received.length >= count, 40_000);

    expect(proxy.fired('throttle')).toBeGreaterThan(0);
    expect(new Set(member.received.map(({ offset }) => offset)).size).toBe(count);
    await until(async () => (await member.lag())[0]?.messages === 0, 20_000);
  },
);
