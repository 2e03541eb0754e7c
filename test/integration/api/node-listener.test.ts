import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiHandler, apiHandler } from '../../../src/api/handler.ts';
import { type ApiListener, apiListener } from '../../../src/api/node-listener.ts';
import { type ApiBench, byHeader, olga, openApi } from './api-bench.ts';

let bench: ApiBench;
let api: ApiHandler;
let server: Server;
beforeEach(async () => {
  bench = await openApi();
  const config = { database: { url: bench.lane.url } };
  api = apiHandler(config, { authentication: byHeader, basePath: '/ops', logger: false });
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await api.close();
  await bench.drop();
});

/** Serves by the listener, behind what a framework does to a request before. */
async function serve(before: (request: IncomingMessage) => void | Promise<void>): Promise<string> {
  const listener: ApiListener = apiListener(api);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await before(request);
    listener(request, response);
  };
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const headers = { 'x-test': JSON.stringify(olga), 'content-type': 'application/json' };

test('the whole path counts where a server has shortened it to what is below its prefix', async () => {
  const shorten = (request: IncomingMessage): void => {
    Object.assign(request, { originalUrl: request.url, url: request.url?.slice('/ops'.length) });
  };
  const url = await serve(shorten);
  expect((await fetch(`${url}/ops/me`, { headers })).status).toBe(200);
  expect((await fetch(`${url}/ops/ops/me`, { headers })).status).toBe(404);
});

test.each<[string, () => NonNullable<RequestInit['body']>]>([
  ['of a known length', () => '{"dryRun":true}'],
  ['in chunks', () => new Blob(['{"dryRun":true}']).stream()],
])(
  'a rehearsal %s whose body was read before is refused, and does not become the change',
  { tags: ['repeated-request-acts-once'] },
  async (_how, body) => {
    const id = await bench.lane.send('A', { afterMs: 3_600_000 });
    const url = await serve(async (request) => {
      request.resume();
      await once(request, 'end');
    });
    const asked = { method: 'POST', headers, body: body(), duplex: 'half' } as const;
    const response = await fetch(`${url}/ops/messages/${id}/cancel`, asked);
    expect(await response.json()).toMatchObject({ status: 400, code: 'OUTBOX_REQUEST_INVALID' });
    expect(await bench.lane.states('A')).toEqual(['waiting']);
  },
);
