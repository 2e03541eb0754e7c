import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type ApiHandler, apiHandler } from '../../../src/api/handler.ts';
import { topic } from '../../../src/core/topic.ts';
import { turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { type ApiBench, adam, byHeader, openApi } from './api-bench.ts';
import { type HostileRequest, hostileRequests } from './hostile-requests.ts';
import { fill, samplesOf } from './samples.ts';

turnNoLeaves();

let bench: ApiBench;
/** It knows the schema of the topic. */
let api: ApiHandler;
beforeAll(async () => {
  bench = await openApi();
  api = apiHandler(
    { database: { url: bench.lane.url }, topics: [topic('orders', z.json())] },
    { authentication: byHeader, logger: false },
  );
});
afterAll(async () => {
  await api.close();
  await bench.drop();
});

/** The status, of a stream that of its head. */
async function statusOf({ body, headers, method, path }: HostileRequest): Promise<[number, string]> {
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
  return [response.status, text];
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

test('no request makes the server fail, whatever its path, query, head and body', {
  tags: ['api-shows-nothing-without-right'],
  timeout: 240_000,
}, async () => {
  const samples = samplesOf(await fill(bench));
  const met = new Set<number>();
  await fc.assert(
    fc.asyncProperty(hostileRequests(samples), async (request) => {
      const [status, text] = await statusOf(request);
      met.add(status);
      expect([status, status < 500], `${text} ${request.path.slice(0, 300)}`).toEqual([status, true]);
      expect(text).not.toMatch(/\bat .*\.[jt]s:|syntax error/);
    }),
    {
      numRuns: Number(process.env['HOSTILE_RUNS'] ?? 400),
      examples: failedEdits(samples).map((one) => [one]),
    },
  );
  expect([...met], 'both kinds of answers were met').toEqual(expect.arrayContaining([200, 400, 422]));
});
