import { Hono } from 'hono';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { apiHandler } from '../../../src/api/handler.ts';
import { noteAlerts } from '../../../src/store/alerts/alerts.ts';
import { beginFiguresLook, noteFigures } from '../../../src/store/figures/figures-look.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { tablesWith } from '../../support/fixtures/stored-text.ts';
import { type ApiBench, adam, byHeader, expectProblem, olga, openApi, vera } from './api-bench.ts';
import { fill, type World } from './samples.ts';

let bench: ApiBench;
let world: World;
beforeEach(async () => {
  bench = await openApi();
  world = await fill(bench);
});
afterEach(async () => {
  await bench.drop();
});

const rows = <Row>(text: string): Promise<readonly Row[]> => bench.lane.database.query<Row>(text);

test('a topic is paused and resumed', async () => {
  const paused = 'select outbox.is_paused($1) as paused';
  expect((await bench.post('/pause', { body: { topic: 'orders', reason: 'a test' } })).body).toEqual({
    changed: true,
    complete: true,
    stillDraining: [],
  });
  expect(await bench.lane.database.query(paused, ['orders'])).toEqual([{ paused: true }]);
  expect((await bench.post('/resume', { body: { topic: 'orders' } })).body).toEqual({ changed: true });
  expect(await bench.lane.database.query(paused, ['orders'])).toEqual([{ paused: false }]);
  expectProblem(await bench.post('/pause', { body: {} }), 400, 'OUTBOX_REQUEST_INVALID');
  const both = { topic: 'orders', transport: 'scripted' };
  expectProblem(await bench.post('/pause', { body: both }), 400, 'OUTBOX_REQUEST_INVALID');
});

test('lanes of a topic are changed', async () => {
  const told = await bench.post('/topics/orders/lanes', { as: adam, body: { lanes: 3, reason: 'more' } });
  expect(told.body).toMatchObject({ done: true });
  expect((await bench.get('/status')).body['topics']).toMatchObject([{ name: 'orders', lanes: 3 }]);
});

test('a verification looks back a bounded time, and tells what it found', async () => {
  const told = await bench.post('/verify', { as: adam, body: { grace: '1m' } });
  expect(told.body).toMatchObject({ ok: true, unreadTopics: ['orders'] });
  const long = { since: '2020-01-01T00:00:00Z' };
  expectProblem(await bench.post('/verify', { as: adam, body: long }), 400, 'OUTBOX_REQUEST_INVALID');
});

test('several messages are changed at once, each with an answer', async () => {
  const unknown = crypto.randomUUID();
  const ids = [world.failed, world.waiting, unknown];
  expect((await bench.post('/messages/retry', { body: { ids } })).body).toMatchObject({
    answers: [
      { id: world.failed, result: 'retried' },
      { id: world.waiting, result: 'too-late' },
      { id: unknown, result: 'unknown' },
    ],
  });
  expect(await bench.lane.states('failed', 'waiting')).toEqual(['ready', 'waiting']);
  const both = { ids, topic: 'orders', ref: 'due' };
  expectProblem(await bench.post('/messages/retry', { body: both }), 400, 'OUTBOX_REQUEST_INVALID');
  expectProblem(await bench.post('/messages/retry', { body: {} }), 400, 'OUTBOX_REQUEST_INVALID');
});

test('a message is found by its ref, moved, and discarded or edited once it has failed', async () => {
  const at = new Date(Date.now() + 7_200_000).toISOString();
  const far = { topic: 'orders', ref: 'due', at: '2099-01-01T00:00:00.000Z' };
  expect((await bench.post('/messages/reschedule', { body: far })).body).toMatchObject({
    answers: [{ result: 'out-of-range' }],
  });
  const one = await bench.post(`/messages/${world.waiting}/reschedule`, { body: { at: far.at } });
  expectProblem(one, 422, 'OUTBOX_DELAY_OUT_OF_RANGE');
  await bench.post('/messages/reschedule', { body: { topic: 'orders', ref: 'due', at } });
  expect((await bench.get('/messages?ref=due&topic=orders')).body).toMatchObject({
    messages: [{ id: world.waiting, dueAt: at }],
  });
  const edited = await bench.post(`/messages/${world.failed}/edit`, {
    body: { payloadText: '12345678901234567890', headers: { note: 'big' } },
  });
  const copy = await bench.post(`/messages/${String(edited.body['id'])}/reveal`);
  expect(copy.body).toMatchObject({ payload: '12345678901234567890', headers: { note: 'big' } });
  expect((await bench.get(`/messages/${world.failed}`)).body).toMatchObject({
    message: { state: 'superseded', supersededBy: edited.body['id'] },
  });
});

test('what has ended is expunged by an administrator, and then nobody is shown what it was', async () => {
  const { waiting } = world;
  const expunge = (as: Caller) =>
    bench.post(`/messages/${waiting}/expunge`, { as, body: { reason: 'asked' } });
  expectProblem(await expunge(olga), 403, 'OUTBOX_REQUEST_DENIED');
  const early = await expunge(adam);
  expectProblem(early, 409, 'OUTBOX_CONFLICT');
  expect(early.body['detail']).toContain('it is waiting: cancel it first');
  await bench.post(`/messages/${waiting}/cancel`);

  expect((await expunge(adam)).body).toMatchObject({ result: 'expunged', state: 'canceled' });

  expect((await bench.get(`/messages/${waiting}`)).body).toMatchObject({
    message: { state: 'canceled', expungedAt: expect.any(String) },
  });
  expect((await bench.post(`/messages/${waiting}/reveal`)).body).toMatchObject({
    payload: null,
    headers: null,
  });
});

test('pages of a list follow each other', async () => {
  for (const label of ['A', 'B', 'C']) await bench.lane.send(label, { afterMs: 3_600_000 });
  const seen: unknown[] = [];
  let after = '';
  for (let page = 0; page < 10; page += 1) {
    const { body } = await bench.get(`/messages?limit=2&states=waiting${after}`);
    for (const { id } of body['messages'] as readonly { readonly id: string }[]) seen.push(id);
    const { next } = body;
    if (typeof next !== 'string') break;
    after = `&after=${next}`;
  }
  expect(new Set(seen)).toEqual(
    new Set([world.waiting, ...['A', 'B', 'C'].map((label) => bench.lane.idOf(label))]),
  );
  expect(seen).toHaveLength(4);
});

test('the stored answer of a bulk operation repeats no error', async () => {
  await rows(`update outbox.message set last_error = 'canary' where state = 'failed'`);
  const body = {
    filter: { topic: 'orders', states: ['failed'] },
    task: { action: 'discard' },
    reason: 'all',
  };
  const headers = { 'idempotency-key': 'once' };
  const started = await bench.post('/bulk', { body, headers });
  expect(started.body).toMatchObject({ count: 1, sample: [{ id: world.failed, lastError: null }] });
  expect((await bench.post('/bulk', { body, headers })).body).toEqual(started.body);
  expect(await tablesWith(bench.lane.database, 'canary')).toEqual(['message']);
});

test('a bulk operation is rehearsed, started, paused, resumed and ended', async () => {
  const asked = {
    filter: { topic: 'orders', states: ['waiting'] },
    task: { action: 'cancel' },
    reason: 'all',
  };
  expect((await bench.post('/bulk', { body: { ...asked, dryRun: true } })).body).toMatchObject({
    id: null,
    count: 1,
    sample: [{ id: world.waiting }],
  });
  const wrong = await bench.post('/bulk', { body: { ...asked, expect: 7 } });
  expectProblem(wrong, 409, 'OUTBOX_BULK_UNEXPECTED');
  const { body } = await bench.post('/bulk', { body: { ...asked, expect: 1, ratePerSecond: 10 } });
  const path = `/bulk/${String(body['id'])}`;
  for (const [step, state] of [
    ['pause', 'paused'],
    ['resume', 'running'],
    ['abort', 'aborted'],
  ] as const)
    expect((await bench.post(`${path}/${step}`)).body).toEqual({ changed: true, state });
  expect((await bench.get(path)).body).toMatchObject({ action: 'cancel', state: 'aborted', actor: 'olga' });
  expect((await bench.get('/bulk?limit=1')).body['bulks']).toMatchObject([{ id: body['id'] }]);
  const kept = { filter: { group: 'billing', states: ['failed'] }, task: { action: 'retry' }, reason: 'all' };
  expect((await bench.post('/kept-bulk', { body: kept })).body).toMatchObject({ count: 1, state: 'running' });
  expect((await bench.get('/kept-bulk')).body['bulks']).toMatchObject([{ group: 'billing' }]);
});

test('a page of bulk operations is full of those that a limited caller sees', async () => {
  const all = { filter: { states: ['failed'] }, task: { action: 'retry' }, reason: 'newer, of every topic' };
  const newer = await bench.post('/bulk', { body: all });
  const of = async (as: Caller) => (await bench.get('/bulk?limit=1', { as })).body['bulks'];
  expect(await of(adam)).toMatchObject([{ id: newer.body['id'] }]);
  expect(await of({ ...adam, topics: ['orders'] })).toMatchObject([{ id: world.bulk }]);
  expect(await of({ ...adam, topics: ['refunds'] })).toEqual([]);
});

test('kept messages are listed, shown, revealed, retried, edited, discarded and expunged', async () => {
  const named = `/groups/billing/kept/${world.kept}`;
  expect((await bench.get('/kept?group=billing')).body).toMatchObject({ messages: [{ id: world.kept }] });
  expect((await bench.get('/kept?group=billing&head=true')).body).toMatchObject({
    messages: [{ id: world.kept }],
  });
  const shown = await bench.get(named);
  expect(shown.body).toMatchObject({ message: { state: 'failed' }, why: {} });
  expect(shown.body['message']).not.toHaveProperty('body');
  expect(shown.body['message']).not.toHaveProperty('headers');
  expect((await bench.post(`${named}/reveal`)).body).toMatchObject({
    payload: '{}',
    headers: { ce_id: '1' },
  });
  expectProblem(await bench.post(`${named}/reveal`, { as: vera }), 403, 'OUTBOX_REQUEST_DENIED');

  const edited = await bench.post(`${named}/edit`, {
    body: { payload: { n: 1 } },
    headers: { 'if-match': shown.headers.get('etag') ?? '' },
  });
  expect(edited.body).toMatchObject({ supersedes: world.kept });
  const copy = String(edited.body['id']);
  const discarded = await bench.post('/groups/billing/kept/discard', { body: { ids: [copy, world.kept] } });
  expect(discarded.body).toMatchObject({
    answers: [
      { id: copy, result: 'discarded' },
      { id: world.kept, result: 'too-late' },
    ],
  });
  const expunged = await bench.post('/groups/billing/kept/expunge', { as: adam, body: { ids: [copy] } });
  expect(expunged.body).toMatchObject({ answers: [{ id: copy, result: 'expunged', state: 'discarded' }] });
  const revealed = await bench.post(`/groups/billing/kept/${copy}/reveal`);
  expect(revealed.body).toMatchObject({ payload: null, base64: null, headers: {} });
  const audit = await rows<{ action: string }>(
    `select action from outbox.audit where actor = 'olga' and inbox_id is not null order by id`,
  );
  expect(audit.map(({ action }) => action)).toEqual(['reveal', 'edit', 'discard', 'discard', 'reveal']);
});

test('a schedule is paused, resumed, run and removed', async () => {
  for (const step of ['pause', 'resume'])
    expect((await bench.post(`/schedules/nightly/${step}`)).body).toEqual({ changed: true });
  const run = await bench.post('/schedules/nightly/run', { body: { reason: 'now' } });
  expect((await bench.get(`/messages/${String(run.body['messageId'])}`)).body).toMatchObject({
    message: { topic: 'orders' },
  });
  expect((await bench.get('/schedules')).body).toMatchObject({ schedules: [{ name: 'nightly' }] });
  expect((await bench.post('/schedules/nightly/remove')).body).toEqual({ changed: true });
  expect((await bench.get('/schedules')).body).toEqual({ schedules: [] });
  expectProblem(await bench.post('/schedules/nightly/run'), 404, 'OUTBOX_SCHEDULE_UNKNOWN');
});

test('alerts are listed, to a limited caller those of its topics, and a rule is silenced', async () => {
  const { database } = bench.lane;
  const number = (await beginFiguresLook(database, 0)) ?? '';
  await noteFigures(database, number, await readFigures(database));
  const firing = { rule: 'failed', figure: 1, text: '1 message failed', next: 'temporal-outbox list' };
  const subjects = ['topic orders', 'topic parcels', 'group orders'].map((subject) => ({
    ...firing,
    subject,
  }));
  await noteAlerts(database, number, subjects, { againMs: 60_000, calmReadings: 4 });
  const told = await bench.post('/alerts/failed/silence', { body: { for: '2h', reason: 'known' } });
  expect(told).toMatchObject({ status: 200, body: { until: expect.stringMatching(/^20/) } });

  const all = (await bench.get('/alerts')).body;
  expect(all['alerts']).toHaveLength(3);
  expect(all['silences']).toMatchObject([{ rule: 'failed', actor: 'olga', reason: 'known' }]);
  const seen = (await bench.get('/alerts', { as: { ...vera, topics: ['orders'] } })).body;
  expect(seen).toMatchObject({ alerts: [{ ...firing, subject: 'topic orders' }], silences: [] });
  expect((await bench.post('/alerts/failed/silence', { body: { for: 0 } })).body).toEqual({ until: null });
  const limited = { ...adam, topics: ['orders'] };
  expectProblem(
    await bench.post('/alerts/failed/silence', { as: limited, body: { for: '2h' } }),
    403,
    'OUTBOX_REQUEST_DENIED',
  );
  const named = async (as: Caller) => (await bench.get('/me', { as })).body['operations'];
  expect(await named(adam)).toEqual(expect.arrayContaining(['silenceAlert', 'verify', 'adopt']));
  for (const name of ['silenceAlert', 'verify', 'adopt']) expect(await named(limited)).not.toContain(name);
  expectProblem(
    await bench.post('/alerts/none/silence', { body: { for: '2h' } }),
    400,
    'OUTBOX_OPTION_INVALID',
  );
});

test('it is mounted under a path of another application', async () => {
  const api = apiHandler(
    { database: { url: bench.lane.url } },
    { authentication: byHeader, basePath: '/ops/outbox', logger: false },
  );
  const shop = new Hono();
  shop.get('/', (context) => context.text('shop'));
  shop.all('/ops/outbox/*', (context) => api(context.req.raw));
  const headers = { 'x-test': JSON.stringify(vera) };
  const asked = await shop.request('http://shop.test/ops/outbox/me', { headers });
  expect(await asked.json()).toMatchObject({ name: 'vera' });
  expect((await shop.request('http://shop.test/ops/outbox/openapi.json', { headers })).status).toBe(200);
  expect(await (await shop.request('http://shop.test/')).text()).toBe('shop');
  await api.close();
});
