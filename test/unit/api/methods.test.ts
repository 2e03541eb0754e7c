import { afterAll, expect, test } from 'vitest';
import { apiHandler } from '../../../src/api/handler.ts';

/** Nothing here comes as far as the database. */
const api = apiHandler(
  { database: { url: 'postgresql://nobody@127.0.0.1:1/none' } },
  {
    authentication: {
      caller: async (request) =>
        request.headers.has('x-test')
          ? { name: 'olga', role: 'viewer', payloads: false, ambient: false }
          : undefined,
    },
    basePath: '/ops',
    logger: false,
  },
);
afterAll(async () => api.close());

const id = '6b2f9c1e-7d3a-4f53-9c52-0d5b1a1f0a11';

async function ask(method: string, path: string, headers: Record<string, string> = { 'x-test': 'olga' }) {
  const response = await api(new Request(`http://api.test/ops${path}`, { method, headers }));
  return { status: response.status, allow: response.headers.get('allow'), response };
}

test.each([
  ['GET', '/pause', 'POST'],
  ['DELETE', '/pause', 'POST'],
  ['GET', '/messages/retry', 'POST'],
  ['GET', `/messages/${id}/retry`, 'POST'],
  ['DELETE', `/messages/${id}`, 'GET, HEAD'],
  ['POST', '/openapi.json', 'GET, HEAD'],
  ['POST', '/events', 'GET, HEAD'],
  ['PUT', '/bulk', 'GET, HEAD, POST'],
  ['OPTIONS', '/status', 'GET, HEAD'],
  // An id of a foreign message may be this word.
  ['DELETE', '/groups/billing/kept/retry', 'GET, HEAD, POST'],
])('%s %s is answered with 405 and the methods that there are', async (method, path, allow) => {
  const told = await ask(method, path);
  expect([told.status, told.allow]).toEqual([405, allow]);
  expect(told.response.headers.get('content-type')).toBe('application/problem+json');
  expect(await told.response.json()).toMatchObject({
    status: 405,
    title: 'Method Not Allowed',
    detail: `This path takes ${allow.replaceAll(', ', ' and ')} only.`,
    code: 'OUTBOX_REQUEST_INVALID',
    next: 'Correct what is named; GET /openapi.json describes every request.',
    details: { allow: allow.split(', ') },
  });
});

test('what is no path is not found by any method, and nobody is told of either', async () => {
  for (const method of ['GET', 'DELETE', 'OPTIONS']) {
    expect(await ask(method, '/metrics')).toMatchObject({ status: 404, allow: null });
    expect(await ask(method, `/messages/${id}/retry/again`)).toMatchObject({ status: 404, allow: null });
    for (const path of ['/pause', '/metrics', '/openapi.json'])
      expect(await ask(method, path, {})).toMatchObject({ status: 401, allow: null });
  }
});

test('HEAD is answered as GET is, without a body, and opens no stream', async () => {
  const document = await ask('HEAD', '/openapi.json');
  expect([document.status, await document.response.text()]).toEqual([200, '']);
  expect((await ask('HEAD', '/pause')).status).toBe(405);
  // A caller may have five streams.
  for (let times = 0; times < 6; times += 1) {
    const { response, status } = await ask('HEAD', '/events');
    expect([status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  }
  expect((await ask('HEAD', '/events?topic=a')).status).toBe(400);
});
