import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseMessages, sweep } from '../../../src/store/message/release.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { releaseMessage } from '../../support/fixtures/release-one.ts';
import { stopClock } from '../../support/fixtures/stop-clock.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let relay: TestRelay | undefined;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
  await fixture.drop();
});

/** Makes every waiting and retrying message due, `agoMs` ago and in the order of the labels. */
async function makeDue(labels: readonly string[], agoMs: number): Promise<void> {
  for (const [n, label] of labels.entries()) {
    await fixture.database.query(
      `update outbox.message set due_at = outbox.clock() - ($2 - $3::float8) * interval '1 ms' where id = $1`,
      [fixture.idOf(label), agoMs, n],
    );
  }
}

test.each([
  { by: 'a sweep', release: async () => (await sweep(fixture.database, [], 100)).released },
  {
    by: 'their workflows',
    release: async () => {
      const ids = ['second', 'first'].map((label) => fixture.idOf(label));
      const { answers } = await releaseMessages(fixture.database, ids);
      return [...answers.values()].filter(({ kind }) => kind === 'ready').length;
    },
  },
])(
  'two delayed messages of one key that $by releases together go in order of their due times',
  { tags: ['order-per-key'] },
  async ({ release }) => {
    for (const label of ['second', 'first']) await fixture.send(label, { key: 'K', afterMs: 60_000 });
    await fixture.send('sent later, due now', { key: 'K' });
    await fixture.drain();
    await makeDue(['first', 'second'], 1_000);

    expect(await release()).toBe(2);
    await fixture.drain();

    expect(fixture.broker.labels).toEqual(['sent later, due now', 'first', 'second']);
  },
);

test('the sweep leaves a message to its workflow for 200 ms, and takes it at once where lanes wait', async () => {
  await stopClock(fixture.database);
  await fixture.send('A', { afterMs: 60_000 });
  await makeDue(['A'], 199);

  expect((await sweep(fixture.database, [], 100)).released).toBe(0);
  expect((await sweep(fixture.database, ['orders'], 100)).released).toBe(1);

  await fixture.send('B', { afterMs: 60_000 });
  await makeDue(['B'], 201);
  expect((await sweep(fixture.database, [], 100)).released).toBe(1);
});

test('a sweep names the lanes of released messages, so that they are woken without a look', async () => {
  await stopClock(fixture.database);
  expect((await sweep(fixture.database, ['orders'], 100)).lanes).toEqual([]);
  for (const label of ['A', 'B']) await fixture.send(label, { afterMs: 60_000 });
  await makeDue(['A', 'B'], 1);

  expect((await sweep(fixture.database, ['orders'], 100)).lanes).toEqual([{ topic: 'orders', lane: 0 }]);
});

test('a message is released at its due time, not 30 ms earlier', async () => {
  await stopClock(fixture.database);
  const id = await fixture.send('A', { afterMs: 60_000 });

  await makeDue(['A'], -30);
  expect(await releaseMessage(fixture.database, id)).toEqual({ kind: 'waiting', dueInMs: 30 });
  expect((await sweep(fixture.database, ['orders'], 100)).released).toBe(0);
  await makeDue(['A'], -1);
  expect(await releaseMessage(fixture.database, id)).toEqual({ kind: 'waiting', dueInMs: 1 });
  expect((await sweep(fixture.database, ['orders'], 100)).released).toBe(0);

  await makeDue(['A'], 0);
  expect(await releaseMessage(fixture.database, id)).toEqual({ kind: 'ready' });
});

test('a sweep releases the longest overdue messages first and skips locked ones', async () => {
  const labels = ['a', 'b', 'c', 'd'];
  for (const label of labels.toReversed()) await fixture.send(label, { afterMs: 60_000 });
  await makeDue(labels, 1_000);
  const canceling = await fixture.begin();
  await fixture.cancel('b', canceling);

  // A wait for the cancel would never end.
  const released = await fixture.database.transaction(async (sql) => {
    await sql.query(`set local lock_timeout = '5s'`);
    return sweep(sql, [], 2).then(
      ({ released: count }) => count,
      () => 'it waited for the lock of the cancel',
    );
  });
  expect(released).toBe(2);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['a', 'c']);
  await canceling.rollback();
  expect((await sweep(fixture.database, [], 2)).released).toBe(2);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['a', 'c', 'b', 'd']);
});

test('a release answers what its workflow should do: wait, ask again, or end', async () => {
  const id = await fixture.send('A', { afterMs: 60_000 });
  const early = await releaseMessage(fixture.database, id);
  expect(early).toMatchObject({ kind: 'waiting' });
  expect(early.kind === 'waiting' && early.dueInMs).toSatisfy((ms: number) => ms > 30_000 && ms <= 60_000);
  expect(await fixture.states('A')).toEqual(['waiting']);

  const canceling = await fixture.begin();
  await makeDue(['A'], 1);
  await fixture.cancel('A', canceling);
  expect(await releaseMessage(fixture.database, id)).toEqual({ kind: 'locked' });
  await canceling.rollback();
  expect(await releaseMessage(fixture.database, id)).toEqual({ kind: 'ready' });
  await fixture.drain();
  expect(await releaseMessage(fixture.database, id)).toEqual({
    kind: 'done',
    state: 'published',
    partition: 0,
    offset: '0',
  });
  expect(await releaseMessage(fixture.database, crypto.randomUUID())).toEqual({ kind: 'unknown' });
});

test('a retried message keeps its position and is delivered by its own workflow', async () => {
  await fixture.drop();
  fixture = await laneFixture({ retry: ['50ms', '50ms'] });
  let refusals = 0;
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' && refusals++ < 2 ? 'reject' : 'store');
  relay = await startTestRelay(fixture);
  await fixture.send('K1', { key: 'K' });
  await fixture.send('K2', { key: 'K' });

  await until(() => fixture.broker.log.length === 2);

  expect(fixture.broker.labels).toEqual(['K1', 'K2']);
  expect(await fixture.row('K1')).toMatchObject({ attempts: 2 });
  expect(relay.workflows.messageStarts.length).toBeGreaterThan(0);
});
