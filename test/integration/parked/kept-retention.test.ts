import { afterEach, beforeEach, expect, test } from 'vitest';
import { dropEnded } from '../../../src/store/inbox/ended.ts';
import { dayMs, EpochFixture } from '../../support/fixtures/epoch-fixture.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

let fixture: EpochFixture;
beforeEach(async () => {
  fixture = await EpochFixture.create();
});
afterEach(() => fixture.drop());

const windowMs = 30 * dayMs;

interface Kept {
  readonly id: string;
  readonly state: 'parked' | 'failed' | 'superseded' | 'discarded';
  /** Since something happened to it. */
  readonly days: number;
  readonly copy?: string;
}

async function keep(...messages: readonly Kept[]): Promise<void> {
  for (const { copy = null, days, id, state } of messages)
    await fixture.database.query(
      `insert into outbox.parked (consumer_group, message_id, state, key_id, topic, address, partition, "offset", wire,
         sent_at, updated_at, superseded_by)
       values ('g', $1, $2, gen_random_uuid(), 'orders', 'orders', 0, '0', '{}', now(), now() - $3 * interval '1 day', $4)`,
      [id, state, days, copy],
    );
}

async function kept(): Promise<readonly string[]> {
  const rows = await fixture.database.query<{ id: string }>(
    'select message_id as id from outbox.parked order by message_id',
  );
  return rows.map(({ id }) => id);
}

async function fill(count: number, state: string): Promise<void> {
  await fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at, updated_at)
     select 'g', $2 || g, $2, 'orders', 'orders', 0, g, '{}', now(), now() - interval '31 days'
     from generate_series(1, $1::integer) g`,
    [count, state],
  );
}

/** Pages that are touched by the deletion of a page of messages. */
async function pages(): Promise<number> {
  const { text, values } = await statementOf((sql) => dropEnded(sql, windowMs, null));
  return pagesOf(await planNodes(fixture.database, text, values));
}

test('discarded and superseded messages are deleted after the window; failed and parked ones stay', async () => {
  await keep(
    { id: 'discarded lately', state: 'discarded', days: 29 },
    { id: 'discarded long ago', state: 'discarded', days: 31 },
    { id: 'failed', state: 'failed', days: 400 },
    { id: 'parked', state: 'parked', days: 400 },
    { id: 'superseded lately', state: 'superseded', days: 29, copy: 'handled' },
    { id: 'superseded long ago', state: 'superseded', days: 31, copy: 'handled' },
  );

  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 2, complete: true });
  expect(await kept()).toEqual(['discarded lately', 'failed', 'parked', 'superseded lately']);
  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 0, complete: true });
  expect(await fixture.keep(Number.POSITIVE_INFINITY)).toMatchObject({ deleted: 0 });
});

test('an original stays until its copy ended longer ago than the window or is gone', async () => {
  await keep(
    { id: 'a', state: 'superseded', days: 90, copy: 'a2' },
    { id: 'a2', state: 'failed', days: 60 },
    { id: 'b', state: 'superseded', days: 90, copy: 'b2' },
    { id: 'b2', state: 'discarded', days: 29 },
    { id: 'c', state: 'superseded', days: 90, copy: 'c2' },
    { id: 'c2', state: 'superseded', days: 60, copy: 'c3' },
    { id: 'c3', state: 'discarded', days: 31 },
  );

  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 3, complete: true });
  expect(await kept()).toEqual(['a', 'a2', 'b', 'b2']);
  await fixture.database.query(`delete from outbox.parked where message_id = 'a2'`);
  await fixture.pass(2 * dayMs);
  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 3, complete: true });
  expect(await kept()).toEqual([]);
});

test('a locked message is skipped and deleted the next time', async () => {
  await keep({ id: 'free', state: 'discarded', days: 31 }, { id: 'locked', state: 'discarded', days: 31 });
  const open = await openTransaction(fixture.url);
  await open.query(`select from outbox.parked where message_id = 'locked' for update`);

  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 1, complete: true });
  expect(await kept()).toEqual(['locked']);
  await open.commit();
  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 1 });
});

test('many messages are deleted in pages, behind as many that have to stay; a stopped keeper leaves the rest to the next one', async () => {
  await fill(2_500, 'discarded');
  await fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at, updated_at, superseded_by)
     select 'g', 'original' || g, 'superseded', 'orders', 'orders', 0, g, '{}', now(), now() - interval '50 days', 'failed' || g
     from generate_series(1, 1500) g`,
  );
  await fill(1_500, 'failed');
  const stop = new AbortController();
  let steps = 0;
  const progress = (): void => {
    steps += 1;
    // After the window, and two pages, of which the first and half of the second have to stay.
    if (steps === 3) stop.abort();
  };

  const first = await fixture.keep(windowMs, { signal: stop.signal, progress });
  expect(first).toMatchObject({ deleted: 500, complete: false });
  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 2_000, complete: true });
  expect(await kept()).toHaveLength(3_000);
});

test('the id of a discarded message is deleted with it, but not within the window', {
  tags: ['window-kept'],
}, async () => {
  await fixture.mark(['m']);
  await keep({ id: 'm', state: 'discarded', days: 0 });
  await fixture.roll();
  await fixture.pass(29 * dayMs);
  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 0 });
  expect(await fixture.mark(['m'])).toEqual([]);

  await fixture.pass(2 * dayMs);
  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 1, carried: 0, dropped: 1 });
  expect(await fixture.mark(['m'])).toEqual(['m']);
});

test('a page reads little more than its rows among 100,000 failed messages, whatever the statistics', async () => {
  await fixture.database.query('analyze outbox.parked');
  await fill(100_000, 'failed');
  for (const statistics of ['stale', 'fresh']) {
    if (statistics === 'fresh')
      await fixture.database.query('vacuum (analyze, index_cleanup on) outbox.parked');
    expect(await pages(), `${statistics}, none`).toBeLessThan(60);
    await fill(1_000, 'discarded');
    expect(await pages(), `${statistics}, 1,000`).toBeLessThan(1_000 * 20);
    expect(await kept()).toHaveLength(100_000);
  }
});

const failedEnd = { group: 'g', ageMs: 90 * dayMs, copied: false } as const;

test('failed messages are deleted when their group requests it; those that block their key and those of other groups stay', {
  tags: ['unknown-messages-fill-no-table'],
}, async () => {
  await keep({ id: 'blocks its key', state: 'failed', days: 400 });
  await keepFailed('failed lately', 89);
  await keepFailed('failed long ago', 91);
  await keepFailed('of another group', 400, { group: 'other' });

  expect(await fixture.keep(windowMs)).toMatchObject({ deleted: 0 });
  expect(await fixture.keep(windowMs, { failed: failedEnd })).toMatchObject({ deleted: 1, complete: true });
  expect(await kept()).toEqual(['blocks its key', 'failed lately', 'of another group']);
  expect(
    await fixture.keep(Number.POSITIVE_INFINITY, { failed: { ...failedEnd, ageMs: dayMs } }),
  ).toMatchObject({
    deleted: 1,
  });
});

test('with dead letters, a failed message stays until its copy exists', async () => {
  await keepFailed('copied', 91, { copied: true });
  await keepFailed('not copied', 91);

  await fixture.keep(windowMs, { failed: { ...failedEnd, copied: true } });
  expect(await kept()).toEqual(['not copied']);
});

test('a locked failed message is skipped, and 2,500 are deleted in pages', async () => {
  await fill(2_500, 'failed');
  const open = await openTransaction(fixture.url);
  await open.query(`select from outbox.parked where message_id = 'failed7' for update`);
  const failed = { ...failedEnd, ageMs: 30 * dayMs };

  expect(await fixture.keep(windowMs, { failed })).toMatchObject({ deleted: 2_499, complete: true });
  expect(await kept()).toEqual(['failed7']);
  await open.commit();
});

async function keepFailed(
  id: string,
  days: number,
  { copied = false, group = 'g' }: { readonly copied?: boolean; readonly group?: string } = {},
): Promise<void> {
  await fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at,
       updated_at, copied_at)
     values ($1, $2, 'failed', 'orders', 'orders', 0, '0', '{}', now(), now() - $3 * interval '1 day',
       case when $4 then now() end)`,
    [group, id, days, copied],
  );
}
