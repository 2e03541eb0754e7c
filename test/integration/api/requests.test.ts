import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, adam, expectProblem, olga, openApi, ownApi, rita, vera } from './api-bench.ts';

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApi();
});
afterAll(() => bench.drop());
beforeEach(() => bench.lane.database.query('truncate outbox.request, outbox.audit'));

const later = { afterMs: 3_600_000 };

test('a repeat with the same key gets the first answer, and changes nothing again', async () => {
  const id = await bench.lane.send('A', later);
  const ask = { body: { after: '2h' }, headers: { 'idempotency-key': 'k1' } };
  const first = await bench.post(`/messages/${id}/reschedule`, ask);
  expect(first.body).toMatchObject({ result: 'rescheduled' });
  await bench.post(`/messages/${id}/cancel`);

  const again = await bench.post(`/messages/${id}/reschedule`, ask);
  expect([again.status, again.text]).toEqual([200, first.text]);
  expect((await auditOf(bench.lane)).map(({ action }) => action)).toEqual(['reschedule', 'cancel']);
  const other = await bench.post(`/messages/${id}/reschedule`, { ...ask, body: { after: '3h' } });
  expectProblem(other, 422, 'OUTBOX_REQUEST_REPEATED');
  // The key is the caller's own.
  const late = await bench.post(`/messages/${id}/reschedule`, { ...ask, as: { ...olga, name: 'oscar' } });
  expectProblem(late, 409, 'OUTBOX_CONFLICT');
});

test('the version that a request asks for is a part of it: with another one its key is refused', async () => {
  await failAll(bench.lane, ['A']);
  const path = `/messages/${bench.lane.idOf('A')}/edit`;
  const version = (await bench.get(`/messages/${bench.lane.idOf('A')}`)).headers.get('etag') ?? '';
  const ask = { body: { payload: 'B' }, headers: { 'idempotency-key': 'k1' } };
  const stale = { 'if-match': '"2020-01-01T00:00:00.000000Z"' };
  expectProblem(
    await bench.post(path, { ...ask, headers: { ...ask.headers, ...stale } }),
    409,
    'OUTBOX_CONFLICT',
  );

  const current = await bench.post(path, { ...ask, headers: { ...ask.headers, 'if-match': version } });
  expectProblem(current, 422, 'OUTBOX_REQUEST_REPEATED');
  const without = await bench.post(path, ask);
  expectProblem(without, 422, 'OUTBOX_REQUEST_REPEATED');
  expect(await bench.lane.states('A')).toEqual(['failed']);
});

test('a refusal is the answer of its key, too; a failure of the server is not, and leaves nothing', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const id = await bench.lane.send('A', later);
  const { database } = bench.lane;
  await database.query(`alter table outbox.audit add check (reason <> 'broken')`);
  const ask = { body: { reason: 'broken' }, headers: { 'idempotency-key': 'k' } };
  expectProblem(await bench.post(`/messages/${id}/cancel`, ask), 500, 'OUTBOX_REQUEST_FAILED');
  expect(await bench.lane.states('A'), 'without its audit entry nothing is done').toEqual(['waiting']);
  expect(await database.query('select 1 from outbox.request')).toEqual([]);

  await database.query('alter table outbox.audit drop constraint audit_reason_check');
  expect((await bench.post(`/messages/${id}/cancel`, ask)).status).toBe(200);
});

test('a payload that is no JSON is told of without a part of it, also in the stored answer of its key', async () => {
  await failAll(bench.lane, ['A']);
  const ask = { body: { payloadText: '{"pin": canary}' }, headers: { 'idempotency-key': 'k' } };
  const told = await bench.post(`/messages/${bench.lane.idOf('A')}/edit`, ask);
  expectProblem(told, 422, 'OUTBOX_PAYLOAD_INVALID');
  const stored = await bench.lane.database.query<{ readonly text: string }>(
    'select r::text as text from outbox.request r',
  );
  expect(stored).toEqual([{ text: expect.stringContaining('OUTBOX_PAYLOAD_INVALID') as string }]);
  expect(told.text + stored[0]?.text).not.toContain('canary');
});

test('a dry run changes nothing and uses up no key', async () => {
  const id = await bench.lane.send('A', later);
  const headers = { 'idempotency-key': 'k' };
  const dry = await bench.post(`/messages/${id}/cancel`, { body: { dryRun: true }, headers });
  expect(dry.body).toMatchObject({ result: 'canceled' });
  expect(await bench.lane.states('A')).toEqual(['waiting']);
  expect(await auditOf(bench.lane)).toEqual([]);
  expect((await bench.post(`/messages/${id}/cancel`, { headers })).status).toBe(200);
  expect(await bench.lane.states('A')).toEqual(['canceled']);
});

test('an answer that is not done is not that of its key: a repeat goes on', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const own = await ownApi();
  const open = await own.lane.begin();
  await own.lane.send('A', {}, open);
  const ask = { as: adam, body: { lanes: 2, timeout: 300 }, headers: { 'idempotency-key': 'k' } };
  const change = () => own.post('/topics/orders/lanes', ask);
  expect((await change()).body).toMatchObject({ done: false, waitingFor: 'transactions' });
  await open.commit();
  const last = await change();
  expect(last.body).toMatchObject({ done: true });
  expect((await change()).text).toBe(last.text);

  const { database, lane } = own.lane;
  await acquireLane(database, lane, randomUUID());
  const asked = { body: { topic: 'orders', timeout: 0 }, headers: { 'idempotency-key': 'p' } };
  const pause = () => own.post('/pause', asked);
  expect((await pause()).body).toMatchObject({ changed: true, complete: false });
  await database.query('update outbox.lane set owner = null');
  expect((await pause()).body).toMatchObject({ changed: false, complete: true });
});

test('answers are kept for a day', async () => {
  const id = await bench.lane.send('A', later);
  await bench.lane.database.query(
    `insert into outbox.request (actor, key, digest, status, answer, created_at)
     values ('olga', 'old', '', 200, '{}', now() - interval '25 hours'), ('olga', 'new', '', 200, '{}', now() - interval '23 hours')`,
  );
  await bench.post(`/messages/${id}/cancel`, { headers: { 'idempotency-key': 'k' } });
  expect(await bench.lane.database.query('select key from outbox.request order by key')).toEqual([
    { key: 'k' },
    { key: 'new' },
  ]);
});

const ambient = { ...olga, ambient: true };

test.each([
  { from: 'another site', headers: { 'sec-fetch-site': 'cross-site', origin: 'http://api.test' } },
  { from: 'a subdomain', headers: { origin: 'http://shop.api.test' } },
  {
    from: 'the same site, but another address',
    headers: { 'sec-fetch-site': 'same-site', origin: 'http://api.test' },
  },
  { from: 'a place that it does not tell', headers: {} },
  { from: 'a sandbox', headers: { origin: 'null' } },
  { from: 'a bookmark', headers: { 'sec-fetch-site': 'none' } },
])(
  'a change by a cookie from $from is refused, and noted',
  { tags: ['api-shows-nothing-without-right'] },
  async ({ headers }) => {
    const id = await bench.lane.send('A', later);
    const told = await bench.post(`/messages/${id}/cancel`, { as: ambient, headers });
    expectProblem(told, 403, 'OUTBOX_REQUEST_CROSS_SITE');
    expect(await bench.lane.states('A')).toEqual(['waiting']);
    expect(await auditOf(bench.lane)).toMatchObject([
      { actor: 'olga', action: 'cancelMessage', result: 'denied', details: { why: 'cross-site' } },
    ]);
  },
);

test.each([{ 'sec-fetch-site': 'same-origin' }, { origin: 'http://api.test' }])(
  'a change by a cookie from the same address is made: %o',
  async (headers) => {
    const id = await bench.lane.send('A', later);
    const told = await bench.post(`/messages/${id}/cancel`, { as: ambient, headers });
    expect(told.body).toMatchObject({ result: 'canceled' });
  },
);

test('a large head is refused', async () => {
  const told = await bench.get('/me', { headers: { 'x-long': 'a'.repeat(33_000) } });
  expectProblem(told, 431, 'OUTBOX_REQUEST_TOO_LARGE');
});

test('every answer has the security headers, and a problem has a request id and no stack', async () => {
  const missing = await bench.get(`/messages/${crypto.randomUUID()}`);
  const unproved = await bench.get('/me', { as: null });
  for (const { headers } of [missing, unproved, await bench.get('/me')]) {
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
  expect(unproved.headers.get('www-authenticate')).toBe('Test realm="outbox"');
  expectProblem(missing, 404, 'OUTBOX_MESSAGE_UNKNOWN');
  expect(missing.body['instance']).toBe(`urn:uuid:${String(missing.body['requestId'])}`);
  expect(missing.text).not.toMatch(/\bat .*\.ts|stack/);
});

test('while callers cannot be proved, nobody gets in', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const told = await bench.get('/me', { as: null, headers: { 'x-test': 'broken' } });
  expectProblem(told, 503, 'OUTBOX_SERVER_UNAVAILABLE');
  expect(told.body['detail']).toMatch(/^Authentication, which the request needs, does not answer/);
  expect(told.text).not.toContain('identity provider');
  for (const wrong of [
    { role: 'root' },
    { name: '' },
    { name: 'a\r\nb' },
    { ambient: 'no' },
    { topics: 'orders' },
  ])
    expectProblem(
      await bench.get('/me', { as: null, headers: { 'x-test': JSON.stringify({ ...olga, ...wrong }) } }),
      503,
      'OUTBOX_SERVER_UNAVAILABLE',
    );
});

test('a misspelt topic or group is not answered as if nothing was found', {
  tags: ['arguments-refused-at-the-border'],
}, async () => {
  const none = '00000000-0000-4000-8000-000000000001';
  const bulk = { task: { action: 'retry' }, reason: 'fixed' };
  for (const told of [
    await bench.get('/messages?topic=ordrs'),
    await bench.post('/messages/cancel', { body: { topic: 'ordrs', ref: 'a' } }),
    await bench.post('/bulk', { body: { ...bulk, filter: { topic: 'ordrs' } } }),
  ])
    expectProblem(told, 404, 'OUTBOX_TOPIC_UNKNOWN');
  for (const told of [
    await bench.post('/pause', { body: { topic: 'ordrs' } }),
    await bench.post('/resume', { body: { topic: 'ordrs' } }),
    await bench.post('/topics/ordrs/lanes', { as: adam, body: { lanes: 2 } }),
  ]) {
    expectProblem(told, 404, 'OUTBOX_TOPIC_UNKNOWN');
    expect(told.body['detail']).toBe('This database has no topic "ordrs" (there are orders).');
  }
  for (const told of [
    await bench.get('/kept?group=biling'),
    await bench.get(`/groups/biling/kept/${none}`),
    await bench.post('/kept-bulk', { body: { ...bulk, filter: { group: 'biling', states: ['failed'] } } }),
  ])
    expectProblem(told, 404, 'OUTBOX_GROUP_UNKNOWN');
  for (const path of ['/bulk', '/kept-bulk'])
    expect((await bench.get(path)).body, 'nothing was started').toEqual({ bulks: [] });
  expect((await bench.get('/messages?topic=ordrs')).body['detail']).toContain('there are orders');
  expect((await bench.get('/messages?topic=orders&key=nobody')).body).toEqual({ messages: [], next: null });
  // What a limited caller does not see may be there or not.
  expect((await bench.get('/kept?group=biling', { as: rita })).body).toEqual({ messages: [], next: null });
});

test('a caller of several topics has to name one of them', async () => {
  const both = { ...vera, topics: ['orders', 'refunds'] };
  const id = await bench.lane.send('A', later);
  expectProblem(await bench.get('/messages', { as: both }), 400, 'OUTBOX_REQUEST_INVALID');
  const { body } = await bench.get('/messages?topic=orders', { as: both });
  expect(body['messages']).toContainEqual(expect.objectContaining({ id }));
  expectProblem(await bench.get('/messages?topic=orders', { as: rita }), 404, 'OUTBOX_TOPIC_UNKNOWN');
});
