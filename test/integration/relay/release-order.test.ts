import { beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { DueEdge } from '../../../src/store/lane/due-edge.ts';
import { releaseMessages, sweep } from '../../../src/store/message/release.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { releaseMessage } from '../../support/fixtures/release-one.ts';
import { stopClock } from '../../support/fixtures/stop-clock.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));
beforeEach(async () => {
  await stopClock(fixture.database);
});

/** Sends delayed messages, which are due at one instant: now. */
async function due(...messages: readonly (readonly [label: string, key: string | null])[]): Promise<void> {
  for (const [label, key] of messages)
    await fixture.send(label, { afterMs: 60_000, ...(key !== null && { key }) });
  await fixture.database.query(
    `update outbox.message set due_at = outbox.clock() where state in ('waiting', 'retrying')`,
  );
}

async function moveDue(label: string, ms: number): Promise<void> {
  await fixture.database.query(
    `update outbox.message set due_at = outbox.clock() + $2 * interval '1 ms' where id = $1`,
    [fixture.idOf(label), ms],
  );
}

const swept = async (limit = 100, edge = new DueEdge()): Promise<number> =>
  (await sweep(fixture.database, ['orders'], limit, edge)).released;
const released = (label: string): Promise<unknown> => releaseMessage(fixture.database, fixture.idOf(label));

/** The labels in the order of their positions. */
async function inOrder(...labels: readonly string[]): Promise<readonly string[]> {
  const rows = await Promise.all(labels.map(async (label) => ({ label, ...(await fixture.row(label)) })));
  return rows
    .toSorted((one, other) => Number(BigInt(one.position) - BigInt(other.position)))
    .map(({ label }) => label);
}

const first: readonly { readonly by: string; readonly release: (sql: Sql) => Promise<unknown> }[] = [
  { by: 'a sweep', release: (sql) => sweep(sql, ['orders'], 1) },
  { by: 'a workflow', release: (sql) => releaseMessages(sql, [fixture.idOf('A')]) },
];

test.each(first)(
  'until the release of a message by $by is committed, no sweep releases a later one of its key',
  { tags: ['order-per-key'] },
  async ({ release }) => {
    await due(['A', 'K'], ['B', 'K'], ['other', 'L'], ['without', null]);
    const open = await fixture.begin();
    await release(open);

    expect(await swept()).toBe(2);
    expect(await fixture.states('A', 'B', 'other', 'without')).toEqual([
      'waiting',
      'waiting',
      'ready',
      'ready',
    ]);

    await open.commit();
    expect(await swept()).toBe(1);
    expect(await inOrder('B', 'A')).toEqual(['A', 'B']);
  },
);

test.each(first)(
  'until the release of a message by $by is committed, no workflow releases a later one of its key',
  { tags: ['order-per-key'] },
  async ({ release }) => {
    await due(['A', 'K'], ['B', 'K'], ['other', 'L']);
    const open = await fixture.begin();
    await release(open);

    expect(await released('B')).toEqual({ kind: 'locked' });
    expect(await released('other')).toEqual({ kind: 'ready' });

    await open.commit();
    expect(await released('B')).toEqual({ kind: 'ready' });
    expect(await inOrder('B', 'A')).toEqual(['A', 'B']);
  },
);

test('a message waits for a transaction that cancels an earlier one of its key, and goes in order after a rollback', {
  tags: ['order-per-key'],
}, async () => {
  await due(['A', 'K'], ['B', 'K'], ['C', 'K']);
  const canceling = await fixture.begin();
  await fixture.cancel('A', canceling);

  expect(await swept()).toBe(0);
  expect(await released('C')).toEqual({ kind: 'locked' });

  await canceling.rollback();
  expect(await swept()).toBe(3);
  expect(await inOrder('C', 'B', 'A')).toEqual(['A', 'B', 'C']);
});

test('what is before a locked message of its key is released, and what is behind it is not', async () => {
  await due(['A', 'K'], ['B', 'K'], ['C', 'K']);
  await moveDue('C', -2);
  await moveDue('A', -1);
  const canceling = await fixture.begin();
  await fixture.cancel('A', canceling);

  expect(await swept()).toBe(1);
  expect(await fixture.states('A', 'B', 'C')).toEqual(['waiting', 'waiting', 'ready']);
  await canceling.commit();
  expect(await swept()).toBe(1);
  expect(await inOrder('B', 'C')).toEqual(['C', 'B']);
});

test('a workflow releases the earlier due messages of its key, too, and no later ones', async () => {
  await due(['A', 'K'], ['B', 'K'], ['C', 'K'], ['other', 'L']);
  await moveDue('B', -3);
  await moveDue('A', -2);

  expect(await released('A')).toEqual({ kind: 'ready' });
  expect(await fixture.states('A', 'B', 'C', 'other')).toEqual(['ready', 'ready', 'waiting', 'waiting']);
  expect(await inOrder('A', 'B')).toEqual(['B', 'A']);
});

test('a workflow releases a hundred earlier messages of its key, and a sweep the rest', async () => {
  const labels = Array.from({ length: 103 }, (_, n) => `m${n}`);
  await due(...labels.map((label) => [label, 'K'] as const));

  expect(await released('m102')).toEqual({ kind: 'locked' });
  expect(await fixture.states('m100', 'm101', 'm102')).toEqual(['ready', 'waiting', 'waiting']);
  expect(await swept()).toBe(2);
  expect(await inOrder(...labels.toReversed())).toEqual(labels);
});

test('a retry keeps its position and does not wait for a locked message of its key', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'tried' ? 'reject' : 'store');
  await fixture.send('tried', { key: 'K' });
  await fixture.drain();
  const { position } = await fixture.row('tried');
  await due(['A', 'K'], ['B', 'K']);
  const canceling = await fixture.begin();
  await fixture.cancel('A', canceling);

  expect(await swept()).toBe(1);
  expect(await fixture.row('tried')).toMatchObject({ state: 'ready', position });
  await canceling.rollback();
});

test('messages behind a locked one do not use up the limit of a sweep, and the next one finds them', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  await due(['A', 'K'], ['B', 'K'], ['C', 'K'], ['D', 'K'], ['other', 'L'], ['without', null]);
  const canceling = await fixture.begin();
  await fixture.cancel('A', canceling);
  const edge = new DueEdge();

  expect(await swept(2, edge)).toBe(2);
  expect(await fixture.states('other', 'without')).toEqual(['ready', 'ready']);
  expect(await swept(2, edge)).toBe(0);

  await canceling.commit();
  expect(await swept(2, edge)).toBe(2);
  expect(await swept(2, edge)).toBe(1);
  expect(await inOrder('D', 'C', 'B')).toEqual(['B', 'C', 'D']);
});
