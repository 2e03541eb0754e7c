import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { apiHandler } from '../../../src/api/handler.ts';
import { loopbackAuthentication } from '../../../src/api/loopback.ts';
import { type RunningApi, serveApi, serverTimes } from '../../../src/api/serve.ts';
import { until } from '../../support/fixtures/until.ts';
import { type ApiBench, byHeader, olga, openApi, rita } from './api-bench.ts';
import { followEvents } from './follow-events.ts';

let bench: ApiBench;
let running: RunningApi;
let url: string;
beforeEach(async () => {
  bench = await openApi();
  running = await serveApi(bench.api, { host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${running.port}`;
});
afterEach(async () => {
  await running.stop();
  await bench.lane.drop();
});

function follow(caller: Caller) {
  const followed = followEvents(`${url}/events`, caller);
  return { ...followed, statuses: () => followed.of('status') };
}

test('live figures come at once, and each caller sees its topics', async () => {
  await bench.lane.send('A', { afterMs: 3_600_000 });
  const [everything, limited] = [follow(olga), follow(rita)];
  await until(() => [everything, limited].every(({ statuses }) => statuses().length > 0));
  expect(everything.statuses()[0]).toMatchObject({ lanes: [{ topic: 'orders', waiting: 1 }] });
  expect(limited.statuses()[0]).toMatchObject({ lanes: [], topics: [], relays: [] });
  for (const one of [everything, limited]) one.stop();
});

test('a stop ends streams, and finishes', async () => {
  const stream = follow(olga);
  await until(() => stream.statuses().length > 0);
  await running.stop();
  expect(await stream.ended).toBe('ended');
  await expect(fetch(`${url}/me`)).rejects.toThrow('fetch failed');
});

/** Sends this much, and nothing more. @returns what is answered before the connection ends */
async function send(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let said = '';
  socket.on('data', (data: Buffer) => (said += data.toString()));
  socket.write(text);
  await once(socket, 'close');
  return said;
}

test('a head or body that does not arrive is given up soon', async () => {
  // Twenty times as fast as it is.
  const times = { ...serverTimes, head: 500, request: 1_500, looked: 100 };
  const api = apiHandler({ database: { url: bench.lane.url } }, { authentication: byHeader, logger: false });
  const own = await serveApi(api, { host: '127.0.0.1', port: 0 }, times);
  const answers = await Promise.all([
    send(own.port, 'GET /me HTTP/1.1\r\nHost: 127.0.0.1\r\nX-'),
    send(
      own.port,
      `POST /pause HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 50\r\nX-Test: ${JSON.stringify(olga)}\r\n\r\n{`,
    ),
  ]);
  await own.stop();
  for (const said of answers) expect(said).toContain('HTTP/1.1 408');
  expect(serverTimes.head + serverTimes.looked).toBeLessThan(25_000);
});

test('without sign-in only localhost is answered, whatever a proxy header says', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const own = await openApi(loopbackAuthentication('ada'));
  expect((await own.get('/me', { headers: { host: '127.0.0.1:7676' } })).body).toMatchObject({
    name: 'ada',
    role: 'admin',
  });
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '10.0.0.1']) {
    const told = await own.get('/me', { headers: { host, 'x-forwarded-for': '127.0.0.1' } });
    expect([host, told.status]).toEqual([host, 421]);
  }
  const headers = { host: 'localhost:7676', 'sec-fetch-site': 'cross-site' };
  expect((await own.post('/pause', { headers, body: { topic: 'orders' } })).status).toBe(403);
  await own.drop();
});

test('a client that hangs up within its body is no failure of the server', async () => {
  const lines: unknown[] = [];
  const note = (facts: object): void => void lines.push(facts);
  const logger = { debug: note, info: note, warn: note, error: note };
  const api = apiHandler({ database: { url: bench.lane.url } }, { authentication: byHeader, logger });
  const answers: number[] = [];
  let begun = false;
  const noting = Object.assign(async (request: Request) => {
    const answering = api(request);
    setImmediate(() => (begun = true));
    const response = await answering;
    answers.push(response.status);
    return response;
  }, api);
  const other = await serveApi(noting, { host: '127.0.0.1', port: 0 });
  // Its routes are loaded now, so that the next request is read at once.
  await fetch(`http://127.0.0.1:${other.port}/me`);
  answers.length = 0;
  begun = false;
  const socket = connect(other.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    `POST /messages/cancel HTTP/1.1\r\nHost: api.test\r\nX-Test: ${JSON.stringify(olga)}\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"ids":`,
  );
  await until(() => begun);
  socket.destroy();
  await until(() => answers.length > 0);
  await other.stop();
  expect([answers, lines]).toEqual([[400], []]);
});
