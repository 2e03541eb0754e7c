import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { apiHandler } from '../../../src/api/handler.ts';
import { streamTable } from '../../../src/api/live/streams.ts';
import { operationTable } from '../../../src/api/table/table.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { http } from '../../../src/brokers/http/transport/http-transport.ts';
import { redisStream } from '../../../src/brokers/redis/transport/stream-transport.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import { topic } from '../../../src/core/topic.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { scriptedRedis } from '../../support/fixtures/scripted-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { byHeader, vera } from './api-bench.ts';

const planted = 'CANARY-OF-A-PAYLOAD';

/** A server that refuses all messages for now, and repeats them in what it says; and an address there. */
const servers: Readonly<Record<string, () => Promise<{ transport: Transport; address: string }>>> = {
  async http() {
    const server = createServer((request, response) => {
      const body: Buffer[] = [];
      request.on('data', (part: Buffer) => body.push(part));
      request.on('end', () => {
        response.writeHead(503, { 'retry-after': '600' }).end(`not now: ${Buffer.concat(body).toString()}`);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const secret = `whsec_${Buffer.alloc(24).toString('base64')}`;
    return {
      transport: http({ allow: ['127.0.0.1'], secret }),
      address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    };
  },
  async redis() {
    const { url } = await scriptedRedis(([name = '', ...args]) => {
      if (!['EVAL', 'EVALSHA', 'XADD', 'FCALL'].includes(name)) return name === 'HELLO' ? new Map() : 'OK';
      return new Error(`ERR unknown command '${name}', with args beginning with: '${args.join("' '")}'`);
    });
    return { transport: redisStream({ url }), address: 'orders' };
  },
};

test.for(Object.keys(servers))(
  'a viewer is told why %s holds an address, and nothing of the message that it repeats',
  { tags: ['api-shows-nothing-without-right'] },
  async (name) => {
    const { address, transport } = await (servers[name] ?? expect.unreachable)();
    const made = await ownDatabase();
    const database = { url: made.url };
    const config = {
      database,
      temporal: { address: '127.0.0.1:1' },
      topics: [topic('orders', z.string(), { address, transport: name })],
      transports: { [name]: transport },
    };
    const relay = startRelay(config, { logger: false });
    onTestFinished(() => relay.stop());
    await relay.ready;
    await storeMessages(made.database, 'orders', [{ payload: JSON.stringify(planted) }]);
    const holds = () =>
      made.database.query<{ reason: string }>(
        `select hold ->> 'reason' as reason from outbox.lane where hold is not null`,
      );
    await until(async () => (await holds()).length > 0, 30_000);

    const [message] = await made.database.query<{ id: string }>('select id::text from outbox.message_all');
    const api = apiHandler({ database }, { authentication: byHeader, logger: false });
    onTestFinished(() => api.close());
    const told = new Map<string, string>([['health', JSON.stringify(relay.health())]]);
    const reads = operationTable.filter(
      ({ method, path }) => method === 'GET' && !/\{group\}|\/bulk\/\{/.test(path),
    );
    for (const { path } of [...reads, ...streamTable]) {
      const url = `http://api.test${path.replace('{id}', message?.id ?? '')}`;
      const stop = new AbortController();
      const headers = { 'x-test': JSON.stringify(vera) };
      const response = await api(new Request(url, { headers, signal: stop.signal }));
      told.set(path, await firstOf(response));
      stop.abort();
    }

    const reason = (await holds())[0]?.reason ?? '';
    expect(reason).toMatch(/answered 503|unknown command/);
    expect([...told].filter(([, text]) => text.includes(planted))).toEqual([]);
    expect(told.get('/status')).toContain(JSON.stringify(reason).slice(1, -1));
  },
);

/** A whole answer; of a stream what it begins with. */
async function firstOf(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  return Buffer.from(value ?? []).toString();
}
