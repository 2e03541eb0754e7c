import { afterEach, beforeEach, expect, test } from 'vitest';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';
import { type ApiBench, adam, expectProblem, olga, openApi, vera } from './api-bench.ts';

let bench: ApiBench;
beforeEach(async () => {
  bench = await openApi();
});
afterEach(async () => {
  await bench.drop();
});

const later = { afterMs: 3_600_000 };

test('the status, a list and a message are read, and a message is canceled', async () => {
  const id = await bench.lane.send('A', later);

  expect((await bench.get('/status')).body).toMatchObject({ lanes: [{ topic: 'orders', waiting: 1 }] });
  expect((await bench.get('/messages?topic=orders')).body).toMatchObject({ messages: [{ id }], next: null });
  const shown = await bench.get(`/messages/${id}`);
  expect(shown.body).toMatchObject({ message: { id, state: 'waiting' }, why: { code: 'due-later' } });
  expect(shown.headers.get('etag')).toMatch(/^"2\d{3}-.+Z"$/);

  const canceled = await bench.post(`/messages/${id}/cancel`, { body: { reason: 'wrong amount' } });
  expect(canceled.body).toEqual({ id, topic: 'orders', lane: 0, result: 'canceled', state: 'canceled' });
  expect(await bench.lane.states('A')).toEqual(['canceled']);
  expect(await auditOf(bench.lane)).toMatchObject([
    { actor: 'olga', action: 'cancel', id, topic: 'orders', result: 'canceled', reason: 'wrong amount' },
  ]);
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
  expect(await auditOf(bench.lane)).toMatchObject([
    { actor: 'vera', action: 'revealMessage', result: 'denied' },
    { actor: olga.name, action: 'reveal', result: 'revealed', id, topic: 'orders' },
  ]);
});
