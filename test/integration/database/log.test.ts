import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withdrawMessages } from '../../../src/operations/messages/withdraw.ts';
import { readStoredMessage } from '../../../src/store/message/show.ts';
import { takeOut } from '../../../src/store/message/take-out.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { leafOf, leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';

turnNoLeaves();

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

const day = 24 * 60 * 60_000;

test('messages that can go now lie in the log, all others in the table', async () => {
  const { fixture } = at;
  const { database } = fixture;
  const batch = async (options: object) => {
    const messages = ['1', '2'].map((payload) => ({ payload, ...options }));
    return (await storeMessages(database, fixture.topic, messages)).map(({ id }) => id);
  };
  const inLog = await batch({ key: 'k' });
  const delayed = await batch({ afterMs: 60_000 });
  const ids = {
    plain: await fixture.send('plain', { key: 'k', headers: { a: 'b' } }),
    waiting: await fixture.send('waiting', { afterMs: 60_000 }),
    named: await fixture.send('named', { id: randomUUID() }),
    referred: await fixture.send('referred', { ref: 'r' }),
  };
  await database.query(
    `update outbox.topic set confirm_group = 'g', receipt_timeout_ms = '{1000}', confirm_max_sends = 3`,
  );
  const receipts = [await fixture.send('receipt'), ...(await batch({}))];

  for (const id of [ids.plain, ...inLog]) expect(await leafOf(database, id)).toBe('log_1');
  for (const id of [ids.waiting, ids.named, ids.referred, ...delayed, ...receipts])
    expect(await leafOf(database, id)).toBe('message');
});

test('what becomes an exception leaves the log with its position, and its leaf goes on without it', async () => {
  const { fixture } = at;
  const { database } = fixture;
  const refused = ['first'];
  fixture.broker.judge = (message) =>
    refused.includes(String(JSON.parse(message.payload))) ? 'reject' : 'store';
  const first = await fixture.send('first', { key: 'k' });
  await fixture.send('second', { key: 'k' });
  await fixture.send('other');
  await fixture.drain();
  expect(await leafOf(database, first)).toBe('message');
  expect(await fixture.states('first', 'second', 'other')).toEqual(['retrying', 'blocked', 'published']);

  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
  await fixture.send('third', { key: 'k' });
  refused.length = 0;
  await fixture.release('first');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['other', 'first', 'second', 'third']);
});

test('a published message that is to be withdrawn stays published, and is not sent again', async () => {
  const { fixture } = at;
  const id = await fixture.send('sent');
  await fixture.drain();
  const [answer] = await withdrawMessages(fixture.database, { ids: [id] }, { actor: 'test', reason: 'late' });
  expect(answer).toMatchObject({ result: 'too-late', state: 'published' });
  await takeOut(fixture.database, [id]);

  await fixture.drain();
  expect(await leafOf(fixture.database, id)).toBe('message');
  expect(await fixture.states('sent')).toEqual(['published']);
  expect(fixture.broker.labels).toEqual(['sent']);
});

test('a message of the log, which holds no content type, is shown as JSON wherever it moves', async () => {
  const { fixture } = at;
  const { database } = fixture;
  const id = await fixture.send('sent');
  const out = await fixture.send('taken out');
  const stored = async (): Promise<readonly unknown[]> =>
    (
      await database.query<{ type: unknown }>(
        'select content_type as type from outbox.message order by position',
      )
    ).map(({ type }) => type);
  const shown = async (): Promise<readonly unknown[]> =>
    (await Promise.all([id, out].map((each) => readStoredMessage(database, each)))).map(
      (each) => each?.contentType,
    );
  const json = ['application/json', 'application/json'];

  expect([await stored(), await shown()]).toEqual([[null, null], json]);
  await takeOut(database, [out]);
  expect([await stored(), await shown()]).toEqual([[null, 'application/json'], json]);
  await fixture.drain();
  await turnLeaf(database);
  expect(await shown()).toEqual(json);
  await at.age('25 hours');
  await at.archive();
  expect(await at.whereabouts('sent', 'taken out')).toEqual(['archived published', 'archived published']);
  expect(await shown()).toEqual(json);
});

test('a transaction that repeats an id of the log holds up nothing that takes it out', async () => {
  const { fixture } = at;
  const id = await fixture.send('one', { key: 'k' });
  const repeating = await fixture.begin();
  const taking = await fixture.begin();
  try {
    expect(await fixture.send('one', { key: 'k', id }, repeating)).toBe(id);
    await taking.query("set local lock_timeout = '1s'");

    await takeOut(taking, [id]);
  } finally {
    await taking.commit();
    await repeating.commit();
  }

  expect(await leafOf(fixture.database, id)).toBe('message');
});

test('an id that a message of the log has is a repeat, or refused, in every leaf', async () => {
  const { fixture } = at;
  const id = await fixture.send('first');
  const again = async (payload: string) =>
    fixture.database.query(
      `select r.duplicate, r.refusal ->> 'code' as code from outbox.store('orders', jsonb_build_array(jsonb_build_object(
         'payload', $2::text, 'id', $1::text))) r`,
      [id, payload],
    );
  const check = async (): Promise<void> => {
    expect(await again('"first"')).toEqual([{ duplicate: true, code: null }]);
    expect(await again('"else"')).toEqual([{ duplicate: false, code: 'OUTBOX_ID_TAKEN' }]);
    expect(await fixture.database.query('select from outbox.message_all where id = $1', [id])).toHaveLength(
      1,
    );
  };
  await check();
  await fixture.drain();
  await turnLeaf(fixture.database);
  await check();
  await at.age('25 hours');
  await at.archive();
  expect(await at.whereabouts('first')).toEqual(['archived published']);
  await check();
  expect(await at.archive({ historyMs: 90 * day })).toMatchObject({ dropped: 0 });
});

test('an id that was stored twice, because its first try was not committed yet, holds up no lane', async () => {
  const { fixture } = at;
  const first = await fixture.begin();
  const id = await fixture.send('first', {}, first);
  await fixture.send('again', { id });
  fixture.broker.judge = () => 'reject';
  await fixture.drain();
  expect((await fixture.row('again')).state).toBe('retrying');
  await first.commit();
  await fixture.drain();

  expect(await at.whereabouts('first')).toEqual(['live retrying']);
  fixture.broker.judge = () => 'store';
  await fixture.send('later');
  await fixture.drain();
  expect((await fixture.row('later')).state).toBe('published');
});

test('beside a publication of the schema messages are taken out of the log, whether or not a leaf was passed', async () => {
  const { fixture } = at;
  await fixture.database.query('create publication everything for tables in schema outbox');
  fixture.broker.judge = () => 'reject';
  await fixture.send('refused');
  await fixture.drain();
  expect(await fixture.states('refused')).toEqual(['retrying']);
});
