import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type GivenAnswer, servedOperations } from '../../../src/app/operations/served-operations.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';
import { type ApiBench, adam, expectProblem, olga, openApi } from './api-bench.ts';

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApi();
});
afterAll(() => bench.drop());
beforeEach(async () => {
  await bench.lane.database.query('truncate outbox.request, outbox.audit');
  await bench.lane.database.query('update outbox.topic set paused = false');
});

const later = { afterMs: 3_600_000 };

test('of ten equal requests at once, one acts, and all get its answer', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const { database } = bench.lane;
  await bench.lane.send('A', later);
  const body = { filter: { topic: 'orders' }, task: { action: 'cancel' }, reason: 'once' };
  const ask = { body, headers: { 'idempotency-key': 'bulk-1' } };
  const answers = await Promise.all(Array.from({ length: 10 }, () => bench.post('/bulk', ask)));

  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.body).toMatchObject({ state: 'running', count: 1 });
  expect(await database.query('select 1 from outbox.bulk_operation')).toHaveLength(1);
});

test('a refusal because somebody has the message in hand is not the answer of its key: a repeat acts', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const { lane } = bench;
  const waiting = await lane.send('A', later);
  const others = [await lane.send('B', later), await lane.send('C', later)];
  await failAll(lane, ['D', 'E']);
  const failed = lane.idOf('D');
  const requests: readonly (readonly [string, object])[] = [
    [`/messages/${waiting}/cancel`, {}],
    ['/messages/cancel', { ids: others }],
    [`/messages/${failed}/edit`, { payload: 'new' }],
    ['/messages/retry', { ids: [lane.idOf('E')] }],
  ];
  const ask = () =>
    Promise.all(
      requests.map(([path, body], n) => bench.post(path, { body, headers: { 'idempotency-key': `k${n}` } })),
    );
  const open = await lane.begin();
  await open.query('select from outbox.message for update');
  const [one, several, edited, retried] = await ask();
  if (one === undefined || edited === undefined) throw new Error('There is no answer.');
  expectProblem(one, 409, 'OUTBOX_MESSAGE_BUSY');
  expectProblem(edited, 409, 'OUTBOX_MESSAGE_BUSY');
  expect(several?.body).toMatchObject({ answers: [{ result: 'busy' }, { result: 'busy' }] });
  expect(retried?.body).toMatchObject({ answers: [{ result: 'busy' }] });
  await open.rollback();

  const repeated = await ask();
  expect(repeated.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(repeated[1]?.body).toMatchObject({ answers: [{ result: 'canceled' }, { result: 'canceled' }] });
  expect((await ask()).map(({ text }) => text)).toEqual(repeated.map(({ text }) => text));
});

test.for([
  ['limited to another topic', { topics: ['refunds'] }],
  ['of another role', { role: 'admin' }],
  ['without the right to payloads', { payloads: false }],
] as const)(
  'the answer to a caller is not told to one of its name %s',
  { tags: ['repeated-request-acts-once'] },
  async ([, rights]) => {
    const id = await bench.lane.send('A', later);
    const ask = { body: { after: '2h' }, headers: { 'idempotency-key': 'k' } };
    const path = `/messages/${id}/reschedule`;
    expect((await bench.post(path, ask)).status).toBe(200);
    expect((await bench.post(path, { ...ask, as: { ...olga } })).status).toBe(200);

    const other = await bench.post(path, { ...ask, as: { ...olga, ...rights } });

    expectProblem(other, 422, 'OUTBOX_REQUEST_REPEATED');
    const asAdmin = await bench.post('/pause', { ...ask, body: { topic: 'orders', timeout: 0 }, as: adam });
    expect(asAdmin.status, 'the keys of other names are other keys').toBe(200);
  },
);

test('the order in which the topics of a caller are named is not a part of its request', async () => {
  const id = await bench.lane.send('A', later);
  const ask = (topics: readonly string[]) =>
    bench.post(`/messages/${id}/cancel`, { as: { ...olga, topics }, headers: { 'idempotency-key': 'k' } });
  const first = await ask(['orders', 'refunds']);
  expect(first.status).toBe(200);
  expect((await ask(['refunds', 'orders'])).text).toBe(first.text);
});

test('of equal requests at once that wait for relays one acts, and the others get its answer', {
  tags: ['repeated-request-acts-once'],
}, async () => {
  const { database, lane } = bench.lane;
  await acquireLane(database, lane, randomUUID());
  const ask = { body: { topic: 'orders', timeout: 20_000 }, headers: { 'idempotency-key': 'k' } };
  const all = [1, 2, 3, 4].map(() => bench.post('/pause', ask));
  await until(async () => (await auditOf(bench.lane)).length > 0);
  await database.query('update outbox.lane set owner = null');

  const answers = await Promise.all(all);

  expect(answers[0]?.body).toMatchObject({ changed: true, complete: true });
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect((await auditOf(bench.lane)).map(({ action }) => action)).toEqual(['pause']);
});

const request = { actor: 'olga', key: 'k', digest: 'd' };
const done: GivenAnswer = { status: 200, body: '{}' };

/** A process of the API, which waits this long for the answer of another one. */
function process(waitMs: number) {
  const served = servedOperations({ database: { url: bench.lane.url } }, { read: 5_000, change: waitMs });
  onTestFinished(() => served.close());
  return (work: () => Promise<GivenAnswer>) => served.once(request, 'wait', work);
}

test('what another process is answering is refused after a time, and answered here once that failed or has died', async () => {
  let fail: (error: Error) => void = () => undefined;
  const first = process(15_000)(() => new Promise((_, reject) => (fail = reject)));
  const failure = first.catch((error: unknown) => error);
  await until(async () => (await bench.lane.database.query('select from outbox.request')).length > 0);
  await expect(process(100)(async () => done)).rejects.toMatchObject({ code: 'OUTBOX_REQUEST_LIMITED' });
  fail(new Error('it failed'));
  expect(await failure).toMatchObject({ message: 'it failed' });
  expect(await process(0)(async () => ({ ...done, unfinished: true }))).toMatchObject(done);

  await bench.lane.database.query(`update outbox.request set taken_until = now() + interval '100 ms'`);
  expect(await process(15_000)(async () => done), 'its process has ended').toEqual(done);
});

test('a request stays taken for as long as it is being answered', async () => {
  let end: (answer: GivenAnswer) => void = () => undefined;
  const first = process(15_000)(() => new Promise((resolve) => (end = resolve)));
  const takenUntil = async () => {
    const [row] = await bench.lane.database.query<{ readonly at: string }>(
      'select r.taken_until::text as at from outbox.request r',
    );
    return row?.at;
  };
  await until(async () => (await takenUntil()) !== undefined);
  const before = await takenUntil();
  await until(async () => (await takenUntil()) !== before);

  end(done);
  expect(await first).toEqual(done);
});
