import { type AddressInfo, createServer, type Server } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type ApiHandler, apiHandler } from '../../../src/api/handler.ts';
import { topic } from '../../../src/core/topic.ts';
import { turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, adam, byHeader, openApi } from './api-bench.ts';
import { code, type HostileRequest, hostileRequests } from './hostile-requests.ts';
import { fill, samplesOf } from './samples.ts';

turnNoLeaves();

let bench: ApiBench;
/** It knows the schema of the topic. */
let api: ApiHandler;
/** Nobody may be led to speak to it. */
let bait: Server;
let connected = 0;
beforeAll(async () => {
  bench = await openApi();
  bait = createServer((socket) => {
    connected += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => bait.listen(0, '127.0.0.1', resolve));
  api = apiHandler(
    { database: { url: bench.lane.url }, topics: [topic('orders', z.json())] },
    { authentication: byHeader, logger: false },
  );
});
afterAll(async () => {
  bait.close();
  await api.close();
  await bench.drop();
});

/** The status, of a stream that of its head. */
async function answerTo({ body, headers, method, path }: HostileRequest) {
  const stop = new AbortController();
  const response = await api(
    new Request(`http://api.test${path}`, {
      method,
      headers: { ...headers, 'x-test': JSON.stringify(adam) },
      signal: stop.signal,
      ...(method === 'POST' && { body }),
    }),
  );
  const streams = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = streams ? '' : await response.text();
  stop.abort();
  return { status: response.status, text, cookie: response.headers.get('set-cookie') };
}

/** Edits that have made it fail: of payloads that are nested too deep to look through, and of a version on no day. */
function failedEdits({ editMessage }: ReturnType<typeof samplesOf>): readonly HostileRequest[] {
  const edit = { method: 'POST', path: editMessage?.path ?? '' };
  const headers = { 'content-type': 'application/json' };
  return [
    ...[1_000, 4_000, 150_000].map((depth) => ({
      ...edit,
      headers,
      body: JSON.stringify({ payloadText: '['.repeat(depth) + ']'.repeat(depth), dryRun: true }),
    })),
    {
      ...edit,
      headers: { ...headers, 'if-match': '"2026-02-30T00:00:00.000000Z"' },
      body: JSON.stringify({ payload: 1, dryRun: true }),
    },
  ];
}

test('a reason is kept as it was given, whatever is in it', async () => {
  const texts = [...code, 'x'.repeat(2_000)];
  for (const reason of texts) {
    const id = await bench.lane.send(`R${reason}`, { afterMs: 3_600_000 });
    await bench.post(`/messages/${id}/cancel`, { body: { reason } });
  }
  const kept = (await auditOf(bench.lane)).map(({ reason }) => reason);
  expect(kept.slice(-texts.length)).toEqual(texts);
});

test('what is logged and told of a failure has neither payloads nor passwords', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  await failAll(bench.lane, ['L']);
  const lines: unknown[] = [];
  const note = (...given: readonly unknown[]): void => void lines.push(given);
  const logger = { debug: note, info: note, warn: note, error: note };
  const password = 'canary-password';
  const url = `postgresql://nobody:${password}@127.0.0.1:9/outbox`;
  const [broken, away] = [bench.lane.url, url].map((address) =>
    apiHandler({ database: { url: address } }, { authentication: byHeader, logger }),
  );
  const headers = { 'x-test': JSON.stringify(adam), 'content-type': 'application/json' };
  await bench.lane.database.query(
    `alter table outbox.message add constraint canary check (payload not like '%canary%') not valid`,
  );
  const edit = { method: 'POST', headers, body: JSON.stringify({ payload: 'canary-payload' }) };
  const path = `http://api.test/messages/${bench.lane.idOf('L')}/edit`;
  const told = [
    await broken?.(new Request(path, edit)),
    await away?.(new Request('http://api.test/status', { headers })),
  ];
  expect(told.map((response) => response?.status)).toEqual([500, 503]);
  const texts = await Promise.all(told.map(async (response) => response?.text()));
  expect(lines).toHaveLength(2);
  expect(JSON.stringify([lines, texts])).not.toContain('canary-');
  expect(texts[1]).toContain('"PostgreSQL, which the request needs, does not answer, or is not prepared."');
  expect(texts[1]).not.toContain('127.0.0.1');
  await Promise.all([broken?.close(), away?.close()]);
});

const tables = () =>
  bench.lane.database.query<{ readonly name: string }>(
    `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relkind in ('r', 'p') order by 1`,
  );

test('no request makes the server fail, whatever its path, query, head and body', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const samples = samplesOf(await fill(bench));
  const before = await tables();
  const met = new Set<number>();
  const address = `127.0.0.1:${(bait.address() as AddressInfo).port}`;
  await fc.assert(
    fc.asyncProperty(hostileRequests(samples, address), async (request) => {
      const { cookie, status, text } = await answerTo(request);
      met.add(status);
      expect([status, status < 500], `${text} ${request.path.slice(0, 300)}`).toEqual([status, true]);
      expect(text).not.toMatch(/\bat .*\.[jt]s:|syntax error|49#|pg_/);
      expect(cookie).toBeNull();
    }),
    {
      numRuns: Number(process.env['HOSTILE_RUNS'] ?? 600),
      examples: failedEdits(samples).map((one) => [one]),
    },
  );
  expect([...met], 'both kinds of answers were met').toEqual(expect.arrayContaining([200, 400, 422]));
  expect(await tables()).toEqual(before);
  expect(connected, 'what it is given is no address to speak to').toBe(0);
});
