import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseMessage, sweep } from '../../src/store/message/release.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { stopClock } from '../support/fixtures/stop-clock.ts';
import { startTestRelay, type TestRelay } from '../support/fixtures/test-relay.ts';
import { until } from '../support/fixtures/until.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let bench: LaneBench;
let relay: TestRelay | undefined;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
  await bench.drop();
});

/** Makes every waiting and retrying message due, `agoMs` ago and in the order of the labels. */
async function makeDue(labels: readonly string[], agoMs: number): Promise<void> {
  for (const [n, label] of labels.entries()) {
    await bench.database.query(
      `update outbox.message set due_at = outbox.clock() - ($2 - $3::float8) * interval '1 ms' where id = $1`,
      [bench.idOf(label), agoMs, n],
    );
  }
}

test('two delayed messages of one key that are due together go in order of their due times', async () => {
  for (const label of ['second', 'first']) await bench.send(label, { key: 'K', afterMs: 60_000 });
  await bench.send('sent later, due now', { key: 'K' });
  await bench.drain();
  await makeDue(['first', 'second'], 1_000);

  expect(await sweep(bench.database, [], 100)).toBe(2);
  await bench.drain();

  expect(bench.broker.labels).toEqual(['sent later, due now', 'first', 'second']);
});

test('the sweep leaves a message to its workflow for 200 ms, and takes it at once where lanes wait', async () => {
  await stopClock(bench.database);
  await bench.send('A', { afterMs: 60_000 });
  await makeDue(['A'], 199);

  expect(await sweep(bench.database, [], 100)).toBe(0);
  expect(await sweep(bench.database, ['orders'], 100)).toBe(1);

  await bench.send('B', { afterMs: 60_000 });
  await makeDue(['B'], 201);
  expect(await sweep(bench.database, [], 100)).toBe(1);
});

test('nothing is released 30 ms before its time, and nothing waits at its time', async () => {
  await stopClock(bench.database);
  const id = await bench.send('A', { afterMs: 60_000 });

  await makeDue(['A'], -30);
  expect(await releaseMessage(bench.database, id)).toEqual({ kind: 'waiting', dueInMs: 30 });
  expect(await sweep(bench.database, ['orders'], 100)).toBe(0);
  await makeDue(['A'], -1);
  expect(await releaseMessage(bench.database, id)).toEqual({ kind: 'waiting', dueInMs: 1 });
  expect(await sweep(bench.database, ['orders'], 100)).toBe(0);

  await makeDue(['A'], 0);
  expect(await releaseMessage(bench.database, id)).toEqual({ kind: 'ready' });
});

test('a sweep takes the longest overdue first, and passes by what a transaction has locked', async () => {
  const labels = ['a', 'b', 'c', 'd'];
  for (const label of labels.toReversed()) await bench.send(label, { afterMs: 60_000 });
  await makeDue(labels, 1_000);
  const canceling = await bench.begin();
  await bench.cancel('b', canceling);

  // One that waited for the cancel would wait for ever.
  const released = await bench.database.transaction(async (sql) => {
    await sql.query(`set local lock_timeout = '5s'`);
    return sweep(sql, [], 2).catch(() => 'it waited for the lock of the cancel');
  });
  expect(released).toBe(2);
  await bench.drain();
  expect(bench.broker.labels).toEqual(['a', 'c']);
  await canceling.rollback();
  expect(await sweep(bench.database, [], 2)).toBe(2);
  await bench.drain();
  expect(bench.broker.labels).toEqual(['a', 'c', 'b', 'd']);
});

test('a release answers what its workflow is to do: wait, ask again, or end', async () => {
  const id = await bench.send('A', { afterMs: 60_000 });
  const early = await releaseMessage(bench.database, id);
  expect(early).toMatchObject({ kind: 'waiting' });
  expect(early.kind === 'waiting' && early.dueInMs).toSatisfy((ms: number) => ms > 30_000 && ms <= 60_000);
  expect(await bench.states('A')).toEqual(['waiting']);

  const canceling = await bench.begin();
  await makeDue(['A'], 1);
  await bench.cancel('A', canceling);
  expect(await releaseMessage(bench.database, id)).toEqual({ kind: 'locked' });
  await canceling.rollback();
  expect(await releaseMessage(bench.database, id)).toEqual({ kind: 'ready' });
  await bench.drain();
  expect(await releaseMessage(bench.database, id)).toEqual({
    kind: 'done',
    state: 'published',
    partition: 0,
    offset: '0',
  });
  expect(await releaseMessage(bench.database, crypto.randomUUID())).toEqual({ kind: 'unknown' });
});

test('a release after a committed cancel changes nothing', async () => {
  const id = await bench.send('A', { afterMs: 60_000 });
  await bench.cancel('A');
  await makeDue(['A'], 1);

  expect(await releaseMessage(bench.database, id)).toMatchObject({ kind: 'done', state: 'canceled' });
  expect(await sweep(bench.database, ['orders'], 10)).toBe(0);
});

test('a ref may be used again while an older message of it retries, and neither stops the settle', async () => {
  bench.broker.judge = (message) => (labelOf(message) === 'old' ? 'reject' : 'store');
  await bench.send('old', { ref: 'order-1' });
  await bench.send('new', { ref: 'order-1', afterMs: 60_000 });
  await bench.send('other');

  await bench.drain();

  expect(await bench.states('old', 'new', 'other')).toEqual(['retrying', 'waiting', 'published']);
  // The ref means the one that waits.
  const [answer] = await bench.database.query(`select outbox.cancel('orders', ref => 'order-1') as answer`);
  expect(answer).toEqual({ answer: 'canceled' });
  expect(await bench.states('old', 'new')).toEqual(['retrying', 'canceled']);
});

test('a retried message keeps its place and is delivered by its own workflow', async () => {
  await bench.drop();
  bench = await laneBench({ retry: ['50ms', '50ms'] });
  let refusals = 0;
  bench.broker.judge = (message) => (labelOf(message) === 'K1' && refusals++ < 2 ? 'reject' : 'store');
  relay = await startTestRelay(bench);
  await bench.send('K1', { key: 'K' });
  await bench.send('K2', { key: 'K' });

  await until(() => bench.broker.log.length === 2);

  expect(bench.broker.labels).toEqual(['K1', 'K2']);
  expect(await bench.row('K1')).toMatchObject({ attempts: 2 });
  expect(relay.workflows.messageStarts.length).toBeGreaterThan(0);
});
