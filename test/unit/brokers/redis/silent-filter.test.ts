import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { redisFilter } from '../../../../src/brokers/redis/filter/redis-filter.ts';
import type { RedisFilterEvent } from '../../../../src/brokers/redis/filter/redis-filter-options.ts';
import { until } from '../../../support/fixtures/until.ts';

test('a Redis that is silent from the beginning delays a question no longer than the limit of an answer', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const events: RedisFilterEvent[] = [];
  const filter = redisFilter({
    url: `redis://127.0.0.1:${port}`,
    requestTimeout: '100ms',
    report: (event) => events.push(event),
  });
  onTestFinished(async () => {
    await filter.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  expect(await filter.seen('web', ['a'])).toEqual(new Set());
  expect(events, 'two seconds for a connection are not over').toEqual([]);
  await until(() => events.length > 0);

  expect(events).toMatchObject([{ type: 'redis-away', retryInMs: 1_000 }]);
});
