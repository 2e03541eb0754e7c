import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { cancelAudited } from '../../../src/store/message/cancel-audited.ts';
import { cancelMessage, rescheduleMessage, storeMessages } from '../../../src/store/message/write.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

/** Sends a message under its own id, publishes and archives it. */
async function archived(label: string, id: string = randomUUID()): Promise<string> {
  await at.fixture.send(label, { id, key: 'k', ref: `ref-${label}` });
  await at.fixture.drain();
  await at.age('25 hours');
  expect(await at.archive()).toMatchObject({ archived: 1 });
  return id;
}

const again = (sql: Sql, id: string, payload: unknown) =>
  storeMessages(sql, 'orders', [{ id, key: 'k', payload: JSON.stringify(payload) }]);

const liveIds = () => at.fixture.database.query('select id from outbox.message');

test('cancel and reschedule of an archived message answer as they did before it was archived', async () => {
  const { fixture } = at;
  const { database } = fixture;
  const id = await archived('published');
  await fixture.send('canceled', { ref: 'ref-canceled', afterMs: 60_000 });
  await fixture.cancel('canceled');
  await at.age('25 hours');
  await at.archive();

  expect(await cancelMessage(database, 'orders', { id })).toBe('too-late');
  expect(await cancelMessage(database, 'orders', { ref: 'ref-published' })).toBe('too-late');
  expect(await fixture.cancel('canceled')).toBe('canceled');
  expect(await cancelMessage(database, 'orders', { ref: 'ref-canceled' })).toBe('canceled');
  expect(await cancelMessage(database, 'other', { id })).toBe('unknown');
  expect(await rescheduleMessage(database, 'orders', { id }, { afterMs: 1_000 })).toBe('too-late');
  expect(await rescheduleMessage(database, 'orders', { ref: 'ref-canceled' }, { afterMs: 1_000 })).toBe(
    'too-late',
  );
  expect(await rescheduleMessage(database, 'orders', { id: randomUUID() }, { afterMs: 1_000 })).toBe(
    'unknown',
  );
  expect(await cancelAudited(database, id, 'ada')).toBe('too-late');
});

test('a ref means the waiting message, otherwise the newest live one, otherwise the archived one', async () => {
  const { fixture } = at;
  const meant = async () => {
    const [row] = await fixture.database.query<{ id: string | null }>(
      `select outbox.message_of_ref('orders', 'r') as id`,
    );
    return row?.id;
  };
  const send = async (label: string, afterMs?: number) => {
    const id = await fixture.send(label, { ref: 'r', ...(afterMs !== undefined && { afterMs }) });
    if (afterMs === undefined) await fixture.drain();
    return id;
  };
  const first = await send('first');
  const second = await send('second');
  await at.age('25 hours');
  await at.archive();
  expect(await meant()).toBe(second);

  const live = await send('live');
  expect(await meant()).toBe(live);
  const waiting = await send('waiting', 60_000);
  await send('newest');
  expect(await meant()).toBe(waiting);
  expect(first).not.toBe(second);
});

test('sending the id of an archived message is a duplicate, or refused if the content differs', async () => {
  const { database } = at.fixture;
  const id = await archived('A');

  expect(await again(database, id, 'A')).toMatchObject([
    { id, state: 'published', duplicate: true, refusal: null },
  ]);
  expect(await again(database, id, 'B')).toMatchObject([{ id, refusal: { code: 'OUTBOX_ID_TAKEN' } }]);
  expect(await liveIds()).toEqual([]);
});

test('a batch with an archived message stores the others, or none if the content differs', async () => {
  const { database } = at.fixture;
  const id = await archived('A');
  const other = randomUUID();
  const message = (of: string, payload: string) => ({ id: of, key: 'k', payload: JSON.stringify(payload) });

  expect(
    await storeMessages(database, 'orders', [message(other, 'X'), message(id, 'B'), { payload: '"Y"' }]),
  ).toMatchObject([{ n: 2, refusal: { code: 'OUTBOX_ID_TAKEN' } }]);
  expect(await liveIds()).toEqual([]);

  expect(
    await storeMessages(database, 'orders', [message(other, 'X'), message(id, 'A'), { payload: '"Y"' }]),
  ).toMatchObject([
    { id: other, duplicate: false, state: 'ready' },
    { id, duplicate: true, state: 'published' },
    { duplicate: false, state: 'ready' },
  ]);
  expect(await liveIds()).toHaveLength(2);
});

test('an id that is archived while a sender waits for it is still a duplicate', async () => {
  const { fixture } = at;
  const id = randomUUID();
  await fixture.send('A', { id, key: 'k' });
  await fixture.drain();
  await at.age('25 hours');
  // The archive, not committed yet: the row has gone for it and is still there for everybody else.
  const archive = await fixture.begin();
  await archive.query(`create table if not exists outbox.message_history_of_test partition of outbox.message_history
    for values from ('2000-01-01') to ('2100-01-01')`);
  await archive.query(
    `with gone as (delete from outbox.message returning *)
     insert into outbox.message_history select id, topic, lane, position, key, ref, payload, content_type, headers, 'published', workflow_id,
       due_at, workflow_due_at, attempts, sends, last_error, maybe_published, partition, "offset", confirm_by, created_at, updated_at,
       published_at, supersedes, now() from gone`,
  );
  const [answer] = await Promise.all([
    again(fixture.database, id, 'A'),
    untilLockWaits(fixture.database, 1).then(() => archive.commit()),
  ]);

  expect(answer).toMatchObject([{ id, duplicate: true, state: 'published' }]);
  expect(await liveIds()).toEqual([]);
});

test('a REPEATABLE READ transaction that began before the archive does not store the id again', async () => {
  const { fixture } = at;
  const id = randomUUID();
  await fixture.send('A', { id, key: 'k' });
  await fixture.drain();
  await at.age('25 hours');
  const sender = await fixture.begin();
  await sender.query('set transaction isolation level repeatable read');
  await sender.query('select 1 from outbox.message');
  expect(await at.archive()).toMatchObject({ archived: 1 });

  expect(await again(sender, id, 'A')).toMatchObject([{ id, duplicate: true }]);
  await sender.commit();
  expect(await liveIds()).toEqual([]);
});
