import { afterEach, beforeEach, expect, test } from 'vitest';
import { failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, expectProblem, openApi } from './api-bench.ts';

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
