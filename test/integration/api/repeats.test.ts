import { afterEach, beforeEach, expect, test } from 'vitest';
import { failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, adam, expectProblem, olga, openApi } from './api-bench.ts';

let bench: ApiBench;
beforeEach(async () => {
  bench = await openApi();
});
afterEach(async () => {
  await bench.drop();
});

const later = { afterMs: 3_600_000 };

test('a refusal because somebody has the message in hand is not the answer of its key: a repeat acts', async () => {
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
] as const)('the answer to a caller is not told to one of its name %s', async ([, rights]) => {
  const id = await bench.lane.send('A', later);
  const ask = { body: { after: '2h' }, headers: { 'idempotency-key': 'k' } };
  const path = `/messages/${id}/reschedule`;
  expect((await bench.post(path, ask)).status).toBe(200);
  expect((await bench.post(path, { ...ask, as: { ...olga } })).status).toBe(200);

  const other = await bench.post(path, { ...ask, as: { ...olga, ...rights } });

  expectProblem(other, 422, 'OUTBOX_REQUEST_REPEATED');
  const asAdmin = await bench.post('/pause', { ...ask, body: { topic: 'orders', timeout: 0 }, as: adam });
  expect(asAdmin.status, 'the keys of other names are other keys').toBe(200);
});

test('the order in which the topics of a caller are named is not a part of its request', async () => {
  const id = await bench.lane.send('A', later);
  const ask = (topics: readonly string[]) =>
    bench.post(`/messages/${id}/cancel`, { as: { ...olga, topics }, headers: { 'idempotency-key': 'k' } });
  const first = await ask(['orders', 'refunds']);
  expect(first.status).toBe(200);
  expect((await ask(['refunds', 'orders'])).text).toBe(first.text);
});
