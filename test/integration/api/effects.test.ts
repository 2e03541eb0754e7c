import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../../src/api/authentication.ts';
import { apiHandler } from '../../../src/api/handler.ts';
import { noteAlerts } from '../../../src/store/alerts/alerts.ts';
import { beginFiguresLook, noteFigures } from '../../../src/store/figures/figures-look.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { tablesWith } from '../../support/fixtures/stored-text.ts';
import { type ApiBench, adam, byHeader, expectProblem, olga, openApi, ownApi, vera } from './api-bench.ts';
import { fill, type World } from './samples.ts';

let bench: ApiBench;
let world: World;
beforeAll(async () => {
  bench = await openApi();
  world = await fill(bench);
});
afterAll(() => bench.drop());

/** For a test that changes what others look at. */
async function another(): Promise<ApiBench & { readonly world: World }> {
  const own = await ownApi();
  return { ...own, world: await fill(own) };
}

const later = { afterMs: 3_600_000 };
const rows = <Row>(text: string): Promise<readonly Row[]> => bench.lane.database.query<Row>(text);

const unknown = '00000000-0000-4000-8000-000000000000';
const far = '2099-01-01T00:00:00.000Z';

test.for<readonly [string, (world: World) => string, object, number, string]>([
  ['a pause of nothing', () => '/pause', {}, 400, 'OUTBOX_REQUEST_INVALID'],
  [
    'a pause of a topic and of a transport',
    () => '/pause',
    { topic: 'orders', transport: 'scripted' },
    400,
    'OUTBOX_REQUEST_INVALID',
  ],
  ['a change of no message', () => '/messages/retry', {}, 400, 'OUTBOX_REQUEST_INVALID'],
  [
    'a change of messages by ids and by a ref',
    () => '/messages/retry',
    { ids: [unknown], topic: 'orders', ref: 'due' },
    400,
    'OUTBOX_REQUEST_INVALID',
  ],
  [
    'a verification of years',
    () => '/verify',
    { since: '2020-01-01T00:00:00Z' },
    400,
    'OUTBOX_REQUEST_INVALID',
  ],
  [
    'a due time of a message that is too far',
    ({ waiting }) => `/messages/${waiting}/reschedule`,
    { at: far },
    422,
    'OUTBOX_DELAY_OUT_OF_RANGE',
  ],
  [
    'a bulk operation of another number',
    () => '/bulk',
    { filter: { topic: 'orders' }, task: { action: 'cancel' }, reason: 'all', expect: 7 },
    409,
    'OUTBOX_BULK_UNEXPECTED',
  ],
  ['a schedule that is none', () => '/schedules/none/run', {}, 404, 'OUTBOX_SCHEDULE_UNKNOWN'],
  ['a rule that is none', () => '/alerts/none/silence', { for: '2h' }, 400, 'OUTBOX_OPTION_INVALID'],
])('%s is told by its status', async ([, path, body, status, code]) => {
  expectProblem(await bench.post(path(world), { as: adam, body }), status, code);
});

test('of several messages each has an answer of its own, whatever the others have', async () => {
  const own = await another();
  const ids = [own.world.failed, own.world.waiting, unknown];
  expect((await own.post('/messages/retry', { body: { ids } })).body).toMatchObject({
    answers: [{ result: 'retried' }, { result: 'too-late' }, { result: 'unknown' }],
  });
  const ref = { topic: 'orders', ref: 'due' };
  expect((await own.post('/messages/reschedule', { body: { ...ref, at: far } })).body).toMatchObject({
    answers: [{ result: 'out-of-range' }],
  });
});

test('a kept message is shown without its body, revealed to who may read it, and edited by its version', async () => {
  const named = `/groups/billing/kept/${world.kept}`;
  const shown = await bench.get(named);
  for (const hidden of ['body', 'headers']) expect(shown.body['message']).not.toHaveProperty(hidden);
  expect((await bench.post(`${named}/reveal`)).body).toMatchObject({
    payload: '{}',
    headers: { ce_id: '1' },
  });
  expectProblem(await bench.post(`${named}/reveal`, { as: vera }), 403, 'OUTBOX_REQUEST_DENIED');
  const headers = { 'if-match': shown.headers.get('etag') ?? '' };
  const edit = () => bench.post(`${named}/edit`, { body: { payload: { n: 1 } }, headers });
  expect((await edit()).body).toMatchObject({ supersedes: world.kept });
  expectProblem(await edit(), 409, 'OUTBOX_CONFLICT');
  const audit = await rows<{ action: string }>(
    `select action from outbox.audit where actor = 'olga' and inbox_id is not null order by id`,
  );
  expect(audit.map(({ action }) => action)).toEqual(['reveal', 'edit', 'edit']);
});

test('what has ended is expunged by an administrator, and then nobody is shown what it was', async () => {
  const own = await another();
  const { waiting } = own.world;
  const expunge = (as: Caller) => own.post(`/messages/${waiting}/expunge`, { as, body: { reason: 'asked' } });
  expectProblem(await expunge(olga), 403, 'OUTBOX_REQUEST_DENIED');
  const early = await expunge(adam);
  expectProblem(early, 409, 'OUTBOX_CONFLICT');
  expect(early.body['detail']).toContain('it is waiting: cancel it first');
  await own.post(`/messages/${waiting}/cancel`);

  expect((await expunge(adam)).body).toMatchObject({ result: 'expunged', state: 'canceled' });

  expect((await own.get(`/messages/${waiting}`)).body).toMatchObject({
    message: { state: 'canceled', expungedAt: expect.any(String) },
  });
  expect((await own.post(`/messages/${waiting}/reveal`)).body).toMatchObject({
    payload: null,
    headers: null,
  });

  const kept = { ids: [own.world.kept] };
  await own.post('/groups/billing/kept/discard', { body: kept });
  const gone = await own.post('/groups/billing/kept/expunge', { as: adam, body: kept });
  expect(gone.body).toMatchObject({ answers: [{ result: 'expunged', state: 'discarded' }] });
  const revealed = await own.post(`/groups/billing/kept/${own.world.kept}/reveal`);
  expect(revealed.body).toMatchObject({ payload: null, base64: null, headers: {} });
});

test('the stored answer of a bulk operation repeats no error', async () => {
  const own = await another();
  await own.lane.database.query(`update outbox.message set last_error = 'canary' where state = 'failed'`);
  const body = {
    filter: { topic: 'orders', states: ['failed'] },
    task: { action: 'discard' },
    reason: 'all',
  };
  const headers = { 'idempotency-key': 'once' };
  const started = await own.post('/bulk', { body, headers });
  expect(started.body).toMatchObject({ count: 1, sample: [{ id: own.world.failed, lastError: null }] });
  expect((await own.post('/bulk', { body, headers })).body).toEqual(started.body);
  expect(await tablesWith(own.lane.database, 'canary')).toEqual(['message']);
});

test('a page of bulk operations is full of those that a limited caller sees', async () => {
  const all = { filter: { states: ['failed'] }, task: { action: 'retry' }, reason: 'newer, of every topic' };
  const newer = await bench.post('/bulk', { body: all });
  const of = async (as: Caller) => (await bench.get('/bulk?limit=1', { as })).body['bulks'];
  expect(await of(adam)).toMatchObject([{ id: newer.body['id'] }]);
  expect(await of({ ...adam, topics: ['orders'] })).toMatchObject([{ id: world.bulk }]);
  expect(await of({ ...adam, topics: ['refunds'] })).toEqual([]);
});

test('alerts are listed, to a limited caller those of its topics, and a rule is silenced', async () => {
  const { database } = bench.lane;
  const number = (await beginFiguresLook(database, 0)) ?? '';
  await noteFigures(database, number, await readFigures(database));
  const firing = { rule: 'failed', figure: 1, text: '1 message failed', next: 'temporal-outbox list' };
  const subjects = ['topic orders', 'topic parcels', 'group orders'].map((subject) => ({
    ...firing,
    subject,
    labels: {},
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

test('one operation wins, and the other is told of a conflict', async () => {
  const id = await bench.lane.send('A', later);
  const answers = await Promise.all([
    bench.post(`/messages/${id}/cancel`),
    bench.post(`/messages/${id}/withdraw`, { as: adam }),
    bench.post(`/messages/${id}/reschedule`, { body: { after: '1h' } }),
  ]);
  const canceled = answers.filter(({ body }) => body['result'] === 'canceled');
  expect(canceled.length).toBeGreaterThan(0);
  for (const each of answers) if (each.status !== 200) expectProblem(each, 409, 'OUTBOX_CONFLICT');
  expect((await bench.post(`/messages/${id}/cancel`)).body).toMatchObject({ result: 'canceled' });
  const late = await bench.post(`/messages/${id}/reschedule`, { body: { after: 0 } });
  expectProblem(late, 409, 'OUTBOX_CONFLICT');
  expect(late.body['detail']).toBe(
    `Nothing was done to the message ${id}, because it is canceled: it has ended.`,
  );
  // A refusal is in the audit, too, although the answer is an error.
  expect(await auditOf(bench.lane)).toContainEqual(
    expect.objectContaining({ action: 'reschedule', result: 'too-late', id }),
  );
});

test('a failed message is edited once: the second edit of the version that was shown is a conflict', async () => {
  await failAll(bench.lane, ['A']);
  const id = bench.lane.idOf('A');
  const version = (await bench.get(`/messages/${id}`)).headers.get('etag') ?? '';
  const ask = { body: { payload: 'B', reason: 'typing error' }, headers: { 'if-match': version } };

  const stale = await bench.post(`/messages/${id}/edit`, {
    ...ask,
    headers: { 'if-match': '"2020-01-01T00:00:00.000000Z"' },
  });
  expectProblem(stale, 409, 'OUTBOX_CONFLICT');
  const wrong = await bench.post(`/messages/${id}/edit`, { ...ask, headers: { 'if-match': '"1"' } });
  expectProblem(wrong, 400, 'OUTBOX_REQUEST_INVALID');
  expect(wrong.body['detail']).toContain('If-Match');
  expect(stale.body['detail']).toContain('not the expected one');
  const edited = await bench.post(`/messages/${id}/edit`, ask);
  expect(edited.body).toMatchObject({ supersedes: id });
  const again = await bench.post(`/messages/${id}/edit`, ask);
  expectProblem(again, 409, 'OUTBOX_CONFLICT');
  expect(again.body['detail']).toContain('it is superseded: an edit has replaced it by a copy');
});

test('payload and headers are revealed to those who may read them, and the audit says to whom', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const id = await bench.lane.send('secret-payload', { ...later, headers: { tenant: 'secret-header' } });

  const shown = await bench.get(`/messages/${id}`);
  expect(shown.text).not.toContain('secret');
  expectProblem(await bench.post(`/messages/${id}/reveal`, { as: vera }), 403, 'OUTBOX_REQUEST_DENIED');
  const revealed = await bench.post(`/messages/${id}/reveal`);
  expect(revealed.body).toMatchObject({ payload: '"secret-payload"', headers: { tenant: 'secret-header' } });
  expect((await auditOf(bench.lane)).slice(-2)).toMatchObject([
    { actor: 'vera', action: 'revealMessage', result: 'denied' },
    { actor: olga.name, action: 'reveal', result: 'revealed', id, topic: 'orders' },
  ]);
});
