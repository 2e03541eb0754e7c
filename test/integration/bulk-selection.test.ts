import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBulkRunner } from '../../src/relay/bulk.ts';
import { type LaneFixture, laneFixture } from '../support/fixtures/lane-fixture.ts';
import { ada, auditOf, failAll, type Operator, operatorAt } from '../support/fixtures/operator.ts';
import { startTestRelay, type TestRelay } from '../support/fixtures/test-relay.ts';
import { until } from '../support/fixtures/until.ts';

let fixture: LaneFixture;
let operator: Operator;
let relay: TestRelay | undefined;
beforeEach(async () => {
  fixture = await laneFixture();
  operator = operatorAt(fixture);
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
  await operator.close();
  await fixture.drop();
});

const untilEnded = (id: string | null): Promise<void> =>
  until(async () => (await operator.bulk.show(id ?? '')).finishedAt !== null);

test('a dry run counts and shows the first ten, and writes nothing', async () => {
  const labels = Array.from({ length: 12 }, (_, n) => `F${n}`);
  await failAll(fixture, labels);

  const answer = await operator.bulk.start(
    { states: ['failed'] },
    { action: 'retry' },
    { ...ada, dryRun: true },
  );

  expect(answer).toMatchObject({ id: null, state: null, count: 12, exact: true });
  expect(answer.sample.map(({ id }) => id)).toEqual(operator.of(...labels).ids.slice(0, 10));
  expect(await operator.bulk.list()).toEqual([]);
  expect(await auditOf(fixture)).toEqual([]);
});

test('a filter that matches nothing is done at once, and audited', async () => {
  await failAll(fixture, ['A']);

  const answer = await operator.bulk.start({ topic: 'orders', error: 'no such' }, { action: 'retry' }, ada);

  expect(answer).toMatchObject({ state: 'done', count: 0, exact: true });
  expect(await operator.bulk.show(answer.id ?? '')).toMatchObject({ state: 'done', progress: 1, counts: {} });
  expect(await auditOf(fixture)).toMatchObject([{ ...ada, action: 'bulk-start', result: 'done', id: null }]);
});

test('only the messages of the filter are changed, each with one audit entry', async () => {
  await failAll(fixture, ['A', 'B'], 'K');
  await failAll(fixture, ['C'], 'L');
  relay = await startTestRelay(fixture);

  const { id } = await operator.bulk.start({ key: 'K' }, { action: 'retry' }, ada);
  await untilEnded(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({
    state: 'done',
    counts: { retried: 2 },
    answered: 2,
  });
  await until(async () => String(await fixture.states('A', 'B', 'C')) === 'published,published,failed');
  const entries = (await auditOf(fixture)).filter(({ action }) => action === 'retry');
  expect(new Set(entries.map((entry) => entry.id))).toEqual(new Set(operator.of('A', 'B').ids));
  expect(entries.length).toBe(2);
  expect(relay.workflows.bulkStarts).toMatchObject([{ id, replace: false }]);
});

test('messages made after the start are left alone', async () => {
  await fixture.send('before', { afterMs: 3_600_000 });
  const { id } = await operator.bulk.start({ topic: 'orders' }, { action: 'cancel' }, ada);
  await fixture.send('after', { afterMs: 3_600_000 });
  relay = await startTestRelay(fixture);
  await untilEnded(id);

  expect(await fixture.states('before', 'after')).toEqual(['canceled', 'waiting']);
});

test('a message that does not match any more when its page comes is not changed', async () => {
  await failAll(fixture, ['A', 'B']);
  const { id } = await operator.bulk.start({ states: ['failed'] }, { action: 'discard' }, ada);
  await operator.retry(operator.of('A'), ada);
  relay = await startTestRelay(fixture);
  await untilEnded(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({ counts: { discarded: 1 } });
  await until(async () => String(await fixture.states('A', 'B')) === 'published,discarded');
});

test('a locked message that is free again, and no longer matches, is answered as too late', async () => {
  await failAll(fixture, ['A', 'B']);
  const holder = await fixture.begin();
  await holder.query(`update outbox.message set last_error = 'another' where id = $1`, [fixture.idOf('B')]);
  const { id } = await operator.bulk.start({ error: 'the script' }, { action: 'discard' }, ada);
  relay = await startTestRelay(fixture);
  await until(async () => (await operator.bulk.show(id ?? '')).pending === 1);
  await holder.commit();
  await untilEnded(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({ counts: { discarded: 1, 'too-late': 1 } });
  expect(await fixture.states('A', 'B')).toEqual(['discarded', 'failed']);
});

test('published messages are in no selection, late rows behind the cursor are', async () => {
  await failAll(fixture, ['F']);
  for (const label of ['P1', 'P2']) await fixture.send(label);
  const late = await fixture.begin();
  await fixture.send('late', {}, late);
  await fixture.send('P3');
  await fixture.drain();
  await late.commit();
  await operator.pause({ topic: 'orders' }, ada);
  await fixture.send('R1');
  await operator.retry(operator.of('F'), ada);
  expect(await fixture.states('F', 'P1', 'P2', 'late', 'P3', 'R1')).toEqual([
    'ready',
    'published',
    'published',
    'ready',
    'published',
    'ready',
  ]);

  const { count, sample } = await operator.bulk.start(
    { topic: 'orders' },
    { action: 'withdraw' },
    { ...ada, dryRun: true },
  );

  expect(count).toBe(3);
  expect(sample.map((each) => each.id)).toEqual(operator.of('F', 'late', 'R1').ids);
});

test('a withdrawal of many cancels what was not published, and leaves no pause behind', async () => {
  await operator.pause({ topic: 'orders' }, ada);
  const labels = Array.from({ length: 30 }, (_, n) => `R${n}`);
  for (const label of labels) await fixture.send(label);
  await fixture.send('W', { afterMs: 3_600_000 });
  const { id } = await operator.bulk.start(
    { topic: 'orders' },
    { action: 'withdraw' },
    { ...ada, ratePerSecond: 10 },
  );
  relay = await startTestRelay(fixture);
  await untilEnded(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({ state: 'done', counts: { canceled: 31 } });
  expect(new Set(await fixture.states(...labels, 'W'))).toEqual(new Set(['canceled']));
  await operator.resume({ topic: 'orders' }, ada);
  await fixture.send('next');
  await until(async () => String(await fixture.states('next')) === 'published');
});

test('a shift moves every due time once, by so much', async () => {
  for (const [n, label] of ['A', 'B', 'C'].entries())
    await fixture.send(label, { afterMs: (n + 1) * 3_600_000 });
  const dueTimes = async (): Promise<readonly number[]> =>
    (await operator.list({ states: ['waiting'] })).messages.map(({ dueAt }) => dueAt?.getTime() ?? 0);
  const before = await dueTimes();
  relay = await startTestRelay(fixture);

  const { id } = await operator.bulk.start(
    { states: ['waiting'] },
    { action: 'reschedule', shift: '90 minutes' },
    { ...ada, ratePerSecond: 1 },
  );
  await untilEnded(id);

  expect(await dueTimes()).toEqual(before.map((time) => time + 90 * 60_000));
});

test('messages that others have locked are tried until they are free', async () => {
  await failAll(fixture, ['A', 'B', 'C']);
  const holder = await fixture.begin();
  await holder.query('select from outbox.message where id = $1 for update', [fixture.idOf('B')]);
  const { id } = await operator.bulk.start({ states: ['failed'] }, { action: 'discard' }, ada);
  relay = await startTestRelay(fixture);
  await until(async () => (await operator.bulk.show(id ?? '')).pending === 1);
  expect(await operator.bulk.show(id ?? '')).toMatchObject({ state: 'running', counts: { discarded: 2 } });

  await holder.commit();
  await untilEnded(id);

  expect(await operator.bulk.show(id ?? '')).toMatchObject({
    state: 'done',
    counts: { discarded: 3 },
    pending: 0,
  });
});

test('messages that stay locked are answered as busy in the end', async () => {
  await failAll(fixture, ['A', 'B']);
  const holder = await fixture.begin();
  await holder.query('select from outbox.message where id = $1 for update', [fixture.idOf('B')]);
  const { id } = await operator.bulk.start({ states: ['failed'] }, { action: 'discard' }, ada);
  relay = await startTestRelay(fixture);
  await until(async () => (await operator.bulk.show(id ?? '')).pending === 1);
  // Thirty seconds of patience are over.
  await fixture.database.query(
    `update outbox.bulk_operation set pending_since = pending_since - interval '31 seconds'`,
  );
  await untilEnded(id);
  await holder.commit();

  expect(await operator.bulk.show(id ?? '')).toMatchObject({ counts: { busy: 1, discarded: 1 } });
  expect(await fixture.states('A', 'B')).toEqual(['discarded', 'failed']);
});

test('nothing is started when another number of messages matches than was expected', async () => {
  await failAll(fixture, ['A', 'B']);
  const start = (expected: number): Promise<unknown> =>
    operator.bulk.start({ states: ['failed'] }, { action: 'discard' }, { ...ada, expect: expected });

  await expect(start(3)).rejects.toMatchObject({ code: 'OUTBOX_BULK_UNEXPECTED', details: { count: 2 } });
  expect(await operator.bulk.list()).toEqual([]);
  await start(2);
  expect(await operator.bulk.list()).toMatchObject([{ total: 2, totalExact: true }]);
});

test('an operation whose page fails ten times in a row waits for an operator, who can resume it', async () => {
  await failAll(fixture, ['A']);
  const { id } = await operator.bulk.start({ states: ['failed'] }, { action: 'discard' }, ada);
  const known = id ?? '';
  const setFilter = `update outbox.bulk_operation set filter = filter || $1::text::jsonb`;
  await fixture.database.query(setFilter, ['{"dueTo":"never"}']);
  const runner = createBulkRunner({
    database: fixture.database,
    withdraw: async () => undefined,
    report: (event) => fixture.events.push(event),
  });
  const page = () => runner.runPage(known, () => undefined);

  for (let n = 1; n < 10; n += 1) await expect(page()).rejects.toMatchObject({ code: '22007' });
  expect(await page()).toEqual({ kind: 'resting', state: 'failed' });
  const { lastError } = await operator.bulk.show(known);
  expect(lastError).toContain('never');
  await fixture.database.query(`update outbox.bulk_operation set filter = filter - 'dueTo'`);
  expect(await operator.bulk.resume(known, ada)).toEqual({ changed: true, state: 'running' });
  expect(await page()).toEqual({ kind: 'ended', state: 'done', counts: { discarded: 1 } });
  expect(await operator.bulk.show(known)).toMatchObject({ lastError: null });
});
